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
@@ no_number: sums of values that are no numbers
int $F(int k, int d) {
  double zero = reals[0] - reals[0];
  double a = zero / zero;
  double b = __builtin_nan("7");
  if (k & 1)
    b = reals[d & 15];
  double s = a + b;
  reals[1] = s;
  double t = b + a;
  $MIX
  reals[2] = t;
  double p = b * a;
  reals[3] = p;
  return s == t;
}
@@ no_number_loop: the same inside a loop, operands in either order
int $F(int k, int d) {
  double acc = k == $R1 ? -__builtin_nan("3") : reals[d & 7];
  int i;
  for (i = 0;
       i < 8;
       i++) {
    double x = reals[i];
    double s = x + acc;
    reals[i + 8] = s;
    acc = acc + x;
  }
  $MIX
  reals[0] = acc;
  return i;
}
@@ sub_registers: bytes and halves of one word
int $F(int k, int d) {
  unsigned w = (unsigned)k;
  unsigned char low = (unsigned char)w;
  unsigned char next = (unsigned char)(w >> 8);
  unsigned short half = (unsigned short)(w >> 16);
  out[$I1] = low + next;
  w = (w & 0xffff00ffu) | ((unsigned)(d & 0xff) << 8);
  out[$I2] = (int)w;
  signed char sign = (signed char)(w >> 8);
  $MIX
  out[$I3] = sign + half;
  low = (unsigned char)(low + next);
  out[$I4] = low;
  return low - sign;
}
@@ extended: signs and zeroes above narrow values
int $F(int k, int d) {
  short s = (short)(k * 3);
  unsigned short u = (unsigned short)s;
  long wide = s;
  unsigned long plain = u;
  longs[$I5] = wide;
  int same = (long)plain == wide;
  out[$I1] = same;
  $MIX
  unsigned r = (unsigned)d;
  long back = (int)r;
  longs[$I5] = back + (long)r;
  return same;
}
@@ long_division: quotients and remainders of wide negative numbers
int $F(int k, int d) {
  long a = (long)k * $R1 - d;
  long q = a / $S1;
  longs[$I5] = q;
  long r = a % $S1;
  $MIX
  out[$I1] = (int)r;
  long e = a / $P1;
  longs[$I5] = e;
  unsigned long h = (unsigned long)a / $S1;
  longs[3] = (long)h;
  return (int)(e - q);
}
@@ rotated: bits that come in again at the other end
int $F(int k, int d) {
  unsigned x = (unsigned)k ^ $R1u;
  unsigned y = (x << $S1) | (x >> (32 - $S1));
  out[$I1] = (int)y;
  int ones = __builtin_popcount(y);
  out[$I2] = ones;
  $MIX
  unsigned swapped = __builtin_bswap32(y);
  out[$I3] = (int)swapped;
  int lead = y ? __builtin_clz(y) : 32;
  out[$I4] = lead;
  return ones + lead;
}
@@ truth_of_sets: conditions that are joined without branches
int $F(int k, int d) {
  _Bool a = k > d;
  _Bool b = (k & $P1) != 0;
  _Bool c = a && !b;
  out[$I1] = c;
  int t = c ? k : d;
  $MIX
  if (k == $R1)
    t = a | b;
  out[$I2] = t;
  _Bool e = t;
  out[$I3] = e;
  return t + e;
}
