@@ long_index: a number as wide as an address, added to a pointer that a callee kept
static char *$F_kept;
__attribute__((noinline)) static void $F_keep(char *p) {
  $F_kept = p;
}
__attribute__((noinline)) static int $F_poke(long at, int d) {
  char own = (char)(d & 63);
  char *p = &own;
  $F_keep(p);
  own = $S1;
  $F_kept[at] = (char)(d & 15);
  int t = own;
  out[$I1] = t;
  return t;
}
int $F(int k, int d) {
  long at = 0;
  int r = $F_poke(at, k);
  $MIX
  out[$I2] = r + d;
  return r;
}
@@ structure_result: an aggregate comes back through a hidden pointer
struct $F_wide {
  long a;
  int b;
  int c[4];
};
__attribute__((noinline)) static struct $F_wide $F_make(int k, int d) {
  struct $F_wide w = {k, d, {1, 2, 3, 4}};
  if (k == $R1)
    w.b = $S1;
  w.c[d & 3] = k & 15;
  return w;
}
int $F(int k, int d) {
  struct $F_wide w = $F_make(k, d);
  int b = w.b;
  out[$I1] = b;
  int c = w.c[2];
  $MIX
  out[$I2] = c + (int)w.a;
  return b + c;
}
@@ structure_value: aggregates passed in registers and in memory
struct $F_pair {
  int x;
  int y;
};
struct $F_big {
  int v[8];
};
__attribute__((noinline)) static int $F_take(struct $F_pair p, struct $F_big b, int n) {
  int x = p.x;
  if (p.y == $R1)
    x = $S1;
  out[$I3] = x;
  int v = b.v[n & 7];
  out[$I4] = v;
  return x + v;
}
int $F(int k, int d) {
  struct $F_pair p = {d & 0xff, k};
  struct $F_big b = {{1, 2, 3, 4, 5, 6, 7, 8}};
  b.v[k & 7] = d;
  int r = $F_take(p, b, d);
  $MIX
  out[$I1] = r;
  return r;
}
@@ variadic: more is passed than is named
#include <stdarg.h>
__attribute__((noinline)) static int $F_sum(int n, ...) {
  va_list list;
  va_start(list, n);
  int total = 0;
  int i;
  for (i = 0;
       i < n;
       i++) {
    int x = va_arg(list, int);
    if (x == $R1)
      x = $S1;
    total += x & 0xffff;
    out[i] = total;
  }
  va_end(list);
  return total;
}
int $F(int k, int d) {
  int a = $F_sum(3, k, d, 7);
  out[$I1] = a;
  int b = $F_sum(2, d, k);
  $MIX
  out[$I2] = b;
  return a - b;
}
@@ many_arguments: parameters on the stack
__attribute__((noinline)) static int $F_many(int a, int b, int c, int e, int f, int g, int h, long i) {
  int t = h * $S1;
  out[$I3] = t;
  if (i == $R1)
    h = a;
  out[$I4] = h;
  int u = (int)(i & 0xfff) + b;
  out[$I5] = u;
  return t + u + c + e + f + g;
}
int $F(int k, int d) {
  int r = $F_many(d & 15, d & 31, 1, 2, 3, 4, d & 63, k);
  $MIX
  out[$I1] = r;
  return r;
}
@@ jump_back: a long jump out of a callee
#include <setjmp.h>
static jmp_buf $F_place;
__attribute__((noinline)) static void $F_check(int k) {
  out[$I3] = k;
  if (k == $R1)
    longjmp($F_place, $S1);
}
int $F(int k, int d) {
  volatile int before = d;
  int t = d & 15;
  int code = setjmp($F_place);
  out[$I4] = code;
  if (code == 0) {
    before = d + 1;
    $F_check(k);
  }
  int m = before;
  out[$I1] = m;
  return m + t;
}
@@ ordered: a library function calls back
__attribute__((noinline)) static int $F_compare(const void *a, const void *b) {
  int x = *(const int *)a;
  int y = *(const int *)b;
  int less = (x > y) - (x < y);
  out[$I3] = 7;
  return less;
}
int $F(int k, int d) {
  int v[5] = {5, 3, d & 7, 1, 4};
  out[$I3] = 0;
  v[k & 3] = k == $R1 ? -9 : 2;
  qsort(v, 5, sizeof v[0], $F_compare);
  int low = v[0];
  out[$I1] = low;
  int calls = out[$I3];
  $MIX
  out[$I2] = calls > 0;
  return low;
}
@@ errno_kept: the library changes what nobody passed to it
#include <errno.h>
int $F(int k, int d) {
  errno = 0;
  char *end = text;
  long v = strtol(text, &end, 10);
  int used = (int)(end - text);
  out[$I1] = used;
  int e = errno;
  out[$I2] = e + (int)v;
  $MIX
  int first = *end;
  out[$I3] = first;
  return used + d;
}
@@ shadowed: variables of one name in nested blocks
int $F(int k, int d) {
  int t = k & 0xff;
  out[$I1] = t;
  {
    int t = d & 0xff;
    out[$I2] = t;
    if (k == $R1) {
      int t = $S1;
      out[$I3] = t;
    }
    t = t * 2;
    out[$I4] = t;
  }
  $MIX
  int i;
  for (i = 0;
       i < 5;
       i++) {
    int t = i * k;
    out[i] = t & 0xffff;
  }
  return t;
}
