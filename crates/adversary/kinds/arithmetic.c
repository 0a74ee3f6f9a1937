@@ wrap_unsigned: an index that wraps around
int $F(int k, int d) {
  unsigned u = (unsigned)k * $R1u;
  unsigned v = u + (unsigned)d;
  int wrapped = v < u;
  out[$I1] = wrapped;
  $MIX
  unsigned char c = (unsigned char)(v >> $S1);
  unsigned i;
  for (i = 250u;
       (unsigned char)(i + c) != c + 4 && i < 300u;
       i++)
    bytes[i & 63u] = (unsigned char)i;
  out[$I2] = (int)i;
  return (int)v;
}
@@ wrap_counter: a narrow counter that wraps in the loop
int $F(int k, int d) {
  unsigned char c = (unsigned char)(k + 250);
  int i;
  for (i = 0;
       i < $N1;
       i++) {
    c = (unsigned char)(c + $S1);
    bytes[i] = c;
  }
  $MIX
  out[$I1] = c;
  return c;
}
@@ narrowing: values cut to short and char
int $F(int k, int d) {
  signed char c = (signed char)k;
  short s = (short)(k + $S1);
  unsigned short us = (unsigned short)(d * 3u);
  out[$I1] = c;
  int t = c * s;
  $MIX
  out[$I2] = t;
  us = (unsigned short)(us + s);
  out[$I3] = us;
  c = (signed char)(us >> 4);
  out[$I4] = c;
  return c;
}
@@ signed_division: division and remainder of negative numbers
int $F(int k, int d) {
  int a = (k & 0xfffff) - 0x80000;
  int q = a / $S1;
  int r = a % $S1;
  out[$I1] = q;
  int h = a / $P1;
  out[$I2] = h;
  $MIX
  int m = r + q * $S1;
  out[$I3] = m == a;
  int back = h * $P1;
  out[$I4] = back;
  return r;
}
@@ divided_pointer: a distance of pointers, upward and downward
int $F(int k, int d) {
  int *p = data + (k & 31);
  int *q = data + (d & 31);
  long dist = p - q;
  longs[$I5] = dist;
  int t = (int)dist * $S1;
  $MIX
  out[$I1] = t;
  int i = (int)(q - data);
  out[$I2] = *p + i;
  return t;
}
@@ wide_index: an int index widened to pointer size
int $F(int k, int d) {
  long n = (d & 15);
  long i;
  long s = k;
  for (i = n - 1;
       i >= 0;
       i--) {
    s = (s * $S1 + data[i]) & 0xffffffffffL;
    longs[i] = s;
  }
  $MIX
  int t = (int)s;
  out[$I1] = t;
  return t;
}
@@ shifts: shift counts and sign bits
int $F(int k, int d) {
  unsigned sh = (unsigned)d & 31u;
  unsigned u = (unsigned)k << sh;
  int s = k >> $S1;
  out[$I1] = (int)u;
  long w = (long)((unsigned long)(long)k << (sh + 3u));
  longs[$I5] = w;
  $MIX
  int top = (int)(u >> 31);
  out[$I2] = top + s;
  return top;
}
@@ masks: bits that nobody asks for
int $F(int k, int d) {
  unsigned m = (unsigned)k & 0xffu;
  unsigned n = (unsigned)(d + $S1) & 0xfu;
  unsigned t = (m << 4 | n);
  bytes[$I1] = (unsigned char)t;
  $MIX
  unsigned u = t & 0xf0fu;
  out[$I2] = (int)u;
  int b = (k >> $S2) & 1;
  out[$I3] = b ? (int)n : $S3;
  return (int)u;
}
@@ bits: a bit field
int $F(int k, int d) {
  struct { unsigned a : 5; int b : 7; unsigned c : 20; } f;
  f.a = (unsigned)k & 31u;
  f.b = (d & 63) - 32;
  f.c = (unsigned)k >> 12;
  int t = f.b;
  out[$I1] = t;
  if (k == $R1)
    f.a = $S1;
  $MIX
  unsigned u = f.a + f.c;
  out[$I2] = (int)u;
  return t;
}
@@ truth: values that are only zero or one
int $F(int k, int d) {
  _Bool p = k > d;
  _Bool q = (k & $P1) != 0;
  out[$I1] = p;
  int both = p & q;
  $MIX
  out[$I2] = both;
  int t = p ? k : d;
  out[$I3] = t;
  q = k == $R1;
  out[$I4] = q;
  return both + q;
}
@@ floats: a sum in double precision
int $F(int k, int d) {
  double s = k & 0xff;
  double e = 0.5;
  int i;
  for (i = 0;
       i < 16;
       i++) {
    s = s * e + reals[i];
    reals[i] = s;
  }
  $MIX
  if (k == $R1)
    e = 2.0;
  float f = (float)(s * e);
  int t = f > 1.0f;
  out[$I1] = t;
  return t;
}
@@ own_log: functions with the names of the library's, and other effects
EXCLUSIVE
__attribute__((noinline)) static double log(double x) {
  out[$I3] = out[$I3] + 1;
  return x > $R1.0 ? x + out[$I3] : 1.0;
}
__attribute__((noinline)) static double trunc(double x) {
  reals[3] = x;
  return x + $S1;
}
int $F(int k, int d) {
  double a = log((double)k);
  int n = out[$I3];
  double b = trunc((double)(d & 255));
  out[$I1] = n + (a > 2.0);
  double c = log((double)k);
  int m = out[$I3];
  $MIX
  out[$I2] = m - n + (c > 2.0) + (b > 9.0);
  return m;
}
