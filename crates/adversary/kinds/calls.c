@@ recursion: every activation has its own value
int $F(int k, int d) {
  int n = d & 7;
  int mine = k + n;
  out[n] = mine;
  if (n == 0)
    return mine;
  int below = $F(k ^ n, n - 1);
  int t = mine + below;
  if (k == $R1)
    t = $S1;
  out[8 + n] = t;
  return t;
}
@@ recursion_effect: the recursive call changes what is read after it
int $F(int k, int d) {
  int n = d & 3;
  int before = out[$I1];
  out[$I1] = before + (k == $R1 ? $S1 : 1);
  if (n > 0)
    $F(k, n - 1);
  int after = out[$I1];
  out[$I2] = after - before;
  return after;
}
@@ tail_recursion: a recursion that becomes a loop
int $F(int k, int d) {
  int n = d & 15;
  int acc = k ^ $S1;
  if (n == 0)
    return acc;
  out[n] = acc;
  int next = acc * 2 + (n & 1);
  return $F((int)((unsigned)next & 0xffffffu), n - 1);
}
@@ function_pointer: the callee is chosen at run time
__attribute__((noinline)) static int $F_a(int x) {
  int y = x + $S1;
  out[$I3] = y;
  return y;
}
__attribute__((noinline)) static int $F_b(int x) {
  out[$I4] = x;
  out[$I1] = $S2;
  return x ^ $S3;
}
int $F(int k, int d) {
  int (*hook)(int) = $F_a;
  if (k == $R1)
    hook = $F_b;
  int before = out[$I1];
  int r = hook(d);
  int after = out[$I1];
  $MIX
  out[$I2] = after - before + r;
  return r;
}
@@ hook_local: a callee chosen at run time gets a local's address
static void $F_keep(int *p) {
  out[$I3] = *p;
}
static void $F_change(int *p) {
  *p = *p + $S1;
}
static void (*volatile $F_hook)(int *) = $F_keep;
int $F(int k, int d) {
  int n = d & 31;
  if (k == $R1)
    $F_hook = $F_change;
  $F_hook(&n);
  int m = n;
  $MIX
  out[$I1] = m;
  $F_hook = $F_keep;
  out[$I2] = n * $S2;
  return m;
}
@@ inlined: a callee that vanishes in its caller
static inline int $F_mix(int x, int y) {
  int s = x * $S1;
  int t = s + y;
  if (t == $R1)
    t = $S2;
  out[$I3] = t;
  return t;
}
int $F(int k, int d) {
  int a = $F_mix(k & 0xffff, d & 0xff);
  out[$I1] = a;
  int b = $F_mix(d & 0xfff, a & 0xfff);
  $MIX
  out[$I2] = b - a;
  return b;
}
@@ inlined_twice: one callee inside loops of two callers
static inline int $F_step(int acc, int x) {
  int next = acc * 3;
  next = next ^ x;
  return next & 0xffff;
}
int $F(int k, int d) {
  int i;
  int acc = k & 0xff;
  for (i = 0;
       i < $N1;
       i++) {
    acc = $F_step(acc, data[i]);
    out[i] = acc;
  }
  $MIX
  int last = $F_step(acc, d & 0xff);
  out[$I1] = last;
  return last;
}
@@ twins: two static functions of one name in two units
EXCLUSIVE
__attribute__((noinline)) static int twin(int x) {
  int y = x * $S1;
  out[$I3] = y & 7;
  int z = y + 1;
  return z;
}
int $F_other(int k, int d);
int $F(int k, int d) {
  int a = twin(k & 0xfff);
  int b = $F_other(k, d);
  $MIX
  out[$I1] = a - b;
  return a;
}
=== second
__attribute__((noinline)) static int twin(int x) {
  int y = x + $S2;
  if (x == $S3)
    y = 0;
  out[$I4] = y & 7;
  int z = y - $S3;
  return z;
}
int $F_other(int k, int d) {
  int a = twin(d & 0xfff);
  out[$I2] = a;
  return a;
}
@@ constant_argument: an argument that one caller makes constant
__attribute__((noinline)) static int $F_in(int a, int n) {
  int i;
  int s = a;
  for (i = 0;
       i < n;
       i++)
    s += data[i];
  out[$I3] = s;
  return s;
}
int $F(int k, int d) {
  int a = $F_in(k & 255, 12);
  out[$I1] = a;
  int b = $F_in(d & 255, k == $R1 ? $S1 : 12);
  $MIX
  out[$I2] = b;
  return a - b;
}
@@ malloced: values kept in an object of the heap
int $F(int k, int d) {
  int *p = malloc(8 * sizeof *p);
  if (!p)
    return 0;
  int i;
  for (i = 0;
       i < 8;
       i++)
    p[i] = i + d % 7;
  p[k & 7] = $S1;
  int t = p[$S2 & 7];
  out[$I1] = t;
  if (k == $R1)
    p[$S2 & 7] = k;
  int u = p[$S2 & 7];
  $MIX
  out[$I2] = u;
  free(p);
  return t + u;
}
@@ compared: strings of the library
int $F(int k, int d) {
  char word[8] = "abcdef";
  word[d & 3] = (char)('a' + (k & 3));
  int c = strcmp(word, "abcdef") == 0;
  out[$I1] = c;
  if (k == $R1)
    word[$S1 & 3] = 0;
  int len = (int)strlen(word);
  $MIX
  out[$I2] = len;
  return c + len;
}
@@ static_state: a static local that a rare call changes
int $F(int k, int d) {
  static int state;
  int old = state;
  state = round_no;
  if (k == $R1)
    state = $S1;
  int now = state;
  $MIX
  out[$I1] = now + (old & 0);
  out[$I2] = state + d % 5;
  return now;
}
