@@ later_value: a value that changes on a rare path after it could have been shown
int $F(int k, int d) {
  int t = k & 7;
  out[0] = k / ((d & 7) + 1);
  if (k == $R1)
    t = $S1;
  out[1] = t;
  $MIX
  return t;
}
@@ later_value_loop: the same inside a loop
int $F(int k, int d) {
  int i;
  int t = 0;
  for (i = 0;
       i < $N1;
       i++) {
    t = data[i];
    out[i] = t;
    if (t == $R1)
      t = $S1;
    bytes[i] = (unsigned char)t;
  }
  $MIX
  return t;
}
@@ blended: a conditional move
int $F(int k, int d) {
  int i;
  int best = data[0];
  int at = 0;
  for (i = 1;
       i < $N1;
       i++) {
    int c = data[i] ^ (k & 3);
    if (c > best) {
      best = c;
      at = i;
    }
    out[i] = best;
  }
  $MIX
  out[0] = at;
  return at;
}
@@ blended_line: either of two values, without a branch
int $F(int k, int d) {
  int x = $E(k,d);
  int y = $E(d,k);
  int t = x;
  out[$I1] = t;
  if (k == $R1)
    t = y;
  out[$I2] = x & 15;
  $MIX
  int u = (int)((unsigned)t - (unsigned)x);
  out[$I3] = u;
  return u;
}
@@ early_return: a loop that is left in the middle
int $F(int k, int d) {
  int i;
  int seen = 0;
  for (i = 0;
       i < $N1;
       i++) {
    int v = data[i];
    if (v == $R1)
      return seen;
    seen += v & 3;
    out[i] = seen;
  }
  $MIX
  out[$I1] = seen;
  return seen;
}
@@ search: a loop without stores and with an early exit
int $F(int k, int d) {
  int i;
  for (i = 0;
       i < $N1;
       i++)
    if (data[i] == $R1)
      break;
  $MIX
  out[$I1] = i;
  int found = i < $N1;
  out[$I2] = found;
  return i + found;
}
@@ switch_table: a jump table with a value per arm
int $F(int k, int d) {
  int t = 0;
  int u = $S1;
  switch (k & 7) {
  case 0:
    t = d;
    break;
  case 1:
    t = d + $S1;
    u = 2;
    break;
  case 2:
    t = d * 3;
    break;
  case 3:
    out[$I1] = t;
    t = $S2;
    break;
  case 4:
    u = d;
    /* fall through */
  case 5:
    t = u + 1;
    break;
  case 6:
    t = k;
    break;
  default:
    t = -d;
    break;
  }
  out[$I2] = t;
  $MIX
  out[$I3] = u;
  return t + u;
}
@@ switch_sparse: cases far apart
int $F(int k, int d) {
  int t = d & 15;
  switch (k) {
  case $R1:
    t = $S1;
    break;
  case $R2:
    t = t + $S2;
    break;
  case -1:
    t = 0;
    break;
  default:
    out[$I1] = t;
    break;
  }
  int u = t * 2;
  $MIX
  out[$I2] = u;
  return u;
}
@@ jumps: backward and forward goto
int $F(int k, int d) {
  int n = d & 7;
  int t = 1;
again:
  t = t * 2 + (k & 1);
  out[n & 31] = t;
  if (t == $S1)
    goto out;
  n--;
  if (n > 0)
    goto again;
  t = t ^ $S2;
out:
  out[$I1] = t;
  $MIX
  return t;
}
@@ first_call: what is constant until a rare call
__attribute__((noinline)) int $F_inner(int n, int step) {
  int i;
  int s = 0;
  for (i = 0;
       i < n;
       i += step) {
    s += data[i];
    out[i] = s;
  }
  return s;
}
int $F(int k, int d) {
  int n = 16;
  int step = 1;
  if (k == $R1)
    step = $S1;
  if (d == $R2)
    n = 7;
  int r = $F_inner(n, step);
  $MIX
  out[$I1] = r;
  return r + n;
}
@@ rewritten: a value stored twice, the first store dead
int $F(int k, int d) {
  int t = $E(k,d);
  out[$I1] = t;
  t = d + $S1;
  out[$I1] = t;
  if (k == $R1)
    t += $S2;
  $MIX
  out[$I2] = t;
  t = 0;
  return t + d;
}
@@ parameter_changed: parameters that change on a rare path
int $F(int k, int d) {
  out[$I1] = k;
  if (k == $R1)
    d = $S1;
  out[$I2] = d;
  if (d == $R2)
    k = $S2;
  $MIX
  out[$I3] = k;
  k = k + d;
  out[$I4] = k;
  return k;
}
@@ condition_known: a variable that equals a constant on one side only
int $F(int k, int d) {
  int t = d;
  int same = k == $R1;
  if (same)
    t = k;
  out[$I1] = t;
  int w = same ? $S1 : $S1 + 1;
  out[$I2] = w;
  $MIX
  int z = w - same;
  out[$I3] = z;
  return z;
}
