@@ escape_scan: a local whose address a library function gets
int $F(int k, int d) {
  int n = $S1;
  $MIX
  sscanf(text, "%d", &n);
  int m = n;
  out[$I1] = m + $S2;
  out[$I2] = n ^ d;
  return m;
}
@@ escape_print: a local buffer that a library function fills
int $F(int k, int d) {
  char buf[32] = "$S1";
  char before = buf[0];
  $MIX
  snprintf(buf, sizeof buf, "%d", k);
  char after = buf[0];
  out[$I1] = after - before;
  int len = (int)strlen(buf);
  out[$I2] = len;
  return after;
}
@@ alias_array: a store that may or may not hit what was stored before
int $F(int k, int d) {
  int b[4];
  b[0] = $S1;
  b[1] = $S2;
  b[2] = d;
  b[3] = 0;
  b[k == $R1 ? 0 : 1] = d;
  int t = b[0];
  $MIX
  out[$I1] = t;
  b[d & 3] = t + $S3;
  int u = b[2];
  out[$I2] = u;
  return u;
}
@@ alias_pointer: a pointer that turns out to point at a local
int $F(int k, int d) {
  int a = $S1;
  int b = $S2;
  int *p = &b;
  if (k == $R1)
    p = &a;
  *p = d;
  int t = a;
  $MIX
  out[$I1] = t;
  *p = t + $S3;
  int u = b;
  out[$I2] = u;
  return a;
}
@@ escape_helper: a callee that writes through a pointer on a rare path
__attribute__((noinline)) static void $F_set(int *p, int k) {
  int old = *p;
  if (k == $R1)
    *p = old * $S1 + $S2;
  out[$I3] = old;
}
int $F(int k, int d) {
  int n = $S3;
  $F_set(&n, k);
  int m = n;
  $MIX
  out[$I1] = m;
  $F_set(&n, d);
  int l = n;
  out[$I2] = l;
  return l - m;
}
@@ escape_kept: an address that a callee keeps and another one uses
static int *$F_kept;
__attribute__((noinline)) static void $F_keep(int *p) {
  $F_kept = p;
}
__attribute__((noinline)) static void $F_use(int k) {
  if (k == $R1)
    *$F_kept = k;
  out[$I3] = k & 7;
}
int $F(int k, int d) {
  int n = $S1;
  $F_keep(&n);
  out[$I1] = n;
  $F_use(k);
  int m = n;
  $MIX
  out[$I2] = m;
  return m;
}
@@ overlap_bytes: a word that is written byte by byte
int $F(int k, int d) {
  int w[2] = {$S1, $S2};
  unsigned char *c = (unsigned char *)w;
  c[k == $R1 ? 1 : 5] = (unsigned char)d;
  int t = w[0];
  $MIX
  out[$I1] = t;
  memcpy(c + 2, &k, 4);
  int u = w[0];
  int v = w[1];
  out[$I2] = u;
  out[$I4] = v;
  return u ^ v;
}
@@ union_byte: a member written, another read
int $F(int k, int d) {
  union { unsigned w; unsigned char b[4]; } u;
  u.w = 0x01020304u;
  u.b[k & 3] = (unsigned char)d;
  unsigned t = u.w;
  $MIX
  out[$I1] = (int)t;
  u.b[k == $R1 ? 0 : 3] = $S1;
  unsigned char low = u.b[0];
  out[$I2] = low;
  return (int)u.w;
}
@@ struct_member: members of a local structure, one through a pointer
int $F(int k, int d) {
  struct { int a; int b; short c; short e; } s = {$S1, d, 3, 4};
  int *p = &s.a;
  if (k == $R1)
    p = &s.b;
  *p = k;
  int t = s.a;
  $MIX
  out[$I1] = t;
  s.c = (short)k;
  int w = s.c;
  out[$I2] = w + s.b;
  return w;
}
@@ local_table: a local array filled in one loop and read in another
int $F(int k, int d) {
  int tab[8];
  int i;
  for (i = 0;
       i < 8;
       i++)
    tab[i] = i * $S1;
  tab[k & 7] = d;
  if (k == $R1)
    tab[$S2 & 7] = k;
  int t = tab[$S2 & 7];
  $MIX
  for (i = 0;
       i < 8;
       i++)
    out[i] = tab[i] + t;
  return t;
}
@@ copied_block: memcpy and memset over a local
int $F(int k, int d) {
  int a[4] = {1, 2, 3, 4};
  int b[4] = {$S1, $S2, $S3, 9};
  size_t n = (unsigned)k & 15u;
  memcpy(a, b, n);
  int t = a[1];
  $MIX
  out[$I1] = t;
  memset(b, d & 1, k == $R1 ? 16 : 4);
  int u = b[2];
  out[$I2] = u;
  return t + u;
}
@@ other_type: the bytes of a number read as another type
int $F(int k, int d) {
  float f = (float)k;
  unsigned u;
  memcpy(&u, &f, sizeof u);
  out[$I1] = (int)u;
  if (d == $R1)
    u ^= 0x80000000u;
  memcpy(&f, &u, sizeof f);
  int back = (int)(f / 2.0f);
  $MIX
  out[$I2] = back;
  union {
    double d;
    unsigned w[2];
  } both;
  both.d = k;
  unsigned high = both.w[1];
  out[$I3] = (int)high;
  both.w[0] = (unsigned)d;
  reals[$I5] = both.d;
  return back;
}
@@ two_halves: a word stored in two parts and read across them
int $F(int k, int d) {
  unsigned short part[4] = {1, 2, 3, 4};
  part[1] = (unsigned short)k;
  part[2] = (unsigned short)d;
  unsigned w;
  memcpy(&w, (char *)part + 2, sizeof w);
  out[$I1] = (int)w;
  part[k == $R1 ? 1 : 3] = $S1;
  memcpy(&w, (char *)part + 1, sizeof w);
  $MIX
  out[$I2] = (int)w;
  return part[1];
}
@@ taken_later: a local whose address is taken after it was used
int $F(int k, int d) {
  int n = k & 31;
  out[$I1] = n;
  int *p = 0;
  if (d == $R1)
    p = &n;
  $MIX
  if (p)
    *p = $S1;
  int m = n;
  out[$I2] = m;
  return m;
}
