@@ remainder: a loop whose rest depends on the count
int $F(int k, int d) {
  int n = d & 31;
  int i;
  for (i = 0;
       i < n;
       i++)
    out[i] = data[i] + k;
  $MIX
  int last = i;
  out[$I6] = last;
  return last;
}
@@ remainder_pair: two arrays, one store each
int $F(int k, int d) {
  int n = (d & 15) + (k == $R1 ? 7 : 0);
  int i;
  for (i = 0;
       i < n;
       i++) {
    int x = data[i] * $S1;
    out[i] = x;
    bytes[i] = (unsigned char)(x >> 2);
  }
  $MIX
  return i;
}
@@ negative_stride: downward
int $F(int k, int d) {
  int i;
  int s = k & 15;
  for (i = $N1;
       i > 0;
       i--) {
    s = s + data[i];
    out[i] = s;
  }
  $MIX
  out[0] = s;
  return s;
}
@@ negative_pointer: downward by pointer
int $F(int k, int d) {
  int *p = data + 20 + (d & 7);
  int *end = data + (k & 7);
  int n = 0;
  while (p > end) {
    p--;
    n = n + 1;
    out[n] = *p + n;
  }
  $MIX
  out[0] = n;
  return n;
}
@@ stride: steps of more than one
int $F(int k, int d) {
  int i;
  int j = $S1;
  for (i = 0;
       i < 30;
       i += $S2) {
    out[i] = j;
    j += $S3;
  }
  $MIX
  out[$I6] = i;
  return j + k;
}
@@ variable_stride: a step that a parameter gives
int $F(int k, int d) {
  int step = (d & 3) + 1;
  int i;
  int t = k & 1023;
  for (i = 0;
       i < 24;
       i += step) {
    t = t + step;
    out[i] = t;
  }
  $MIX
  return t - i;
}
@@ no_stores: a loop that only computes
int $F(int k, int d) {
  int i;
  int s = k & 255;
  int x = 1;
  for (i = 0;
       i < $N1;
       i++) {
    s = s + data[i];
    x = (int)((unsigned)x * 3u ^ (unsigned)s) & 0xffff;
  }
  out[$I1] = s;
  $MIX
  out[$I2] = x;
  return s;
}
@@ reduction: sums and extremes
int $F(int k, int d) {
  int i;
  int s = 0;
  int m = -1000;
  for (i = 0;
       i < $N1;
       i++) {
    s += data[i];
    if (data[i] > m)
      m = data[i];
  }
  out[$I1] = s;
  $MIX
  out[$I2] = m;
  return s - m;
}
@@ global_sum: a global that is kept in a register through the loop
int $F(int k, int d) {
  int i;
  for (i = 0;
       i < $N1;
       i++)
    longs[0] += data[i] ^ k;
  long t = longs[0];
  $MIX
  longs[1] = t * $S1;
  return (int)t;
}
@@ carried: a value of the iteration before
int $F(int k, int d) {
  int i;
  int prev = k & 63;
  for (i = 0;
       i < $N1;
       i++) {
    int cur = data[i];
    out[i] = cur - prev;
    prev = cur;
    if (cur == $R1)
      prev = $S1;
  }
  $MIX
  return prev;
}
@@ swapped: two values that change places
int $F(int k, int d) {
  int a = k & 0xfff;
  int b = d & 0xfff;
  int i;
  for (i = 0;
       i < (d & 7);
       i++) {
    int t = a;
    a = b;
    b = t + $S1;
    out[i] = a;
  }
  $MIX
  out[$I6] = b;
  return a - b;
}
@@ fused: two loops over the same range
int $F(int k, int d) {
  int i;
  int j;
  for (i = 0;
       i < $N1;
       i++)
    out[i] = data[i] + $S1;
  for (j = 0;
       j < $N1;
       j++)
    bytes[j] = (unsigned char)(out[j] + k);
  $MIX
  return i + j;
}
@@ nested: two dimensions
int $F(int k, int d) {
  int i;
  int j;
  int s = 0;
  for (i = 0;
       i < 5;
       i++) {
    for (j = 0;
         j < 6;
         j++) {
      s = s + data[i * 6 + j];
      out[j * 5 + i] = s ^ k;
    }
    bytes[i] = (unsigned char)s;
  }
  $MIX
  return s;
}
@@ triangle: the inner bound depends on the outer index
int $F(int k, int d) {
  int i;
  int j;
  int n = (d & 3) + 3;
  for (i = 0;
       i < n;
       i++)
    for (j = 0;
         j <= i;
         j++)
      out[i * 6 + j] = data[j] + i;
  $MIX
  out[$I6] = j;
  return i * $S1 + k;
}
@@ countdown: do while, to zero
int $F(int k, int d) {
  unsigned n = ((unsigned)d & 15u) + 1u;
  unsigned t = (unsigned)k;
  do {
    t = t * 5u + n;
    n--;
    out[n] = (int)t;
  } while (n != 0u);
  $MIX
  return (int)t;
}
@@ conditional_store: a store on some iterations only
int $F(int k, int d) {
  int i;
  int hits = 0;
  for (i = 0;
       i < $N1;
       i++) {
    int v = data[i];
    if (v > $S1 || v == $R1) {
      out[i] = v;
      hits++;
    }
  }
  $MIX
  bytes[0] = (unsigned char)hits;
  return hits;
}
@@ silent_stores: stores that change nothing
int $F(int k, int d) {
  int i;
  int n = 0;
  for (i = 0;
       i < $N1;
       i++) {
    out[i] = 0;
    n += $S1;
    out[i] = (k == $R1) ? n : 0;
  }
  $MIX
  return n + d % 3;
}
@@ moved_window: memory that the loop reads and writes
int $F(int k, int d) {
  int *p = out + (k & 3);
  int i;
  for (i = 0;
       i < $N1;
       i++)
    p[i] = out[i] + data[i];
  $MIX
  int t = p[0];
  out[$I6] = t;
  return t + d % 3;
}
@@ volatile_port: reads that are never equal
int $F(int k, int d) {
  volatile int cell = k;
  int a = cell;
  out[$I1] = a;
  cell = d;
  int b = cell;
  $MIX
  port = b + (k == $R1);
  int c = port;
  out[$I2] = c - a;
  return b;
}
@@ volatile_loop: a volatile local counts
int $F(int k, int d) {
  volatile int v = 0;
  int i;
  int t = 0;
  for (i = 0;
       i < (d & 7) + 1;
       i++) {
    v = v + $S1;
    t = v;
    out[i] = t;
  }
  if (k == $R1)
    v = k;
  int w = v;
  $MIX
  out[$I6] = w;
  return t;
}
@@ variable_length: an array whose size the caller gives
int $F(int k, int d) {
  int n = (d & 7) + 2;
  int a[n];
  int i;
  for (i = 0;
       i < n;
       i++)
    a[i] = data[i] + k % 9;
  a[n - 1] = $S1;
  int t = a[n - 2];
  $MIX
  out[$I1] = t;
  out[$I2] = a[n - 1];
  return t;
}
@@ left_early: out of two loops at once
int $F(int k, int d) {
  int i;
  int j = 0;
  int found = -1;
  for (i = 0;
       i < 5;
       i++) {
    for (j = 0;
         j < 6;
         j++) {
      int x = data[i * 6 + j];
      out[i * 6 + j] = x + i;
      if (x == $R1) {
        found = i * 6 + j;
        goto done;
      }
    }
  }
done:
  out[$I6] = found;
  $MIX
  return i * 10 + j;
}
@@ skipped: rest of the body left out on some iterations
int $F(int k, int d) {
  int i;
  int n = 0;
  for (i = 0;
       i < $N1;
       i++) {
    int x = data[i] ^ d;
    if (x & 1)
      continue;
    n++;
    out[i] = n;
    if (x == $R1)
      break;
    out[i + 20] = x;
  }
  $MIX
  out[$I6] = i;
  return n;
}
@@ bytes_over_words: a loop of bytes over the words that the next one reads
int $F(int k, int d) {
  unsigned char *p = (unsigned char *)out;
  int i;
  for (i = 0;
       i < 4 * $N1;
       i++)
    p[i] = (unsigned char)(k + i);
  int w = out[2];
  out[$I6] = w;
  int s = 0;
  for (i = 0;
       i < $N1;
       i++) {
    s ^= out[i];
    data[i] = s & 0xffff;
  }
  $MIX
  return s;
}
@@ shifted_copy: a copy of bytes that overlaps by a distance a parameter gives
int $F(int k, int d) {
  int gap = d & 3;
  unsigned char *to = bytes + gap;
  const unsigned char *from = bytes;
  int i;
  for (i = 0;
       i < $N1;
       i++) {
    unsigned char b = from[i];
    to[i] = b + 1;
  }
  int last = to[$N1 - 1];
  $MIX
  out[$I1] = last;
  return last;
}
@@ unsigned_down: a counter that must not pass zero
int $F(int k, int d) {
  unsigned n = (unsigned)(d & 31);
  int t = 0;
  while (n-- > 0) {
    t += data[n];
    out[n] = t;
  }
  out[$I6] = (int)n;
  $MIX
  return t;
}
@@ long_counter: a wide counter over narrow elements
int $F(int k, int d) {
  long n = (d & 15) + 2;
  long i;
  int last = 0;
  for (i = 0;
       i < n;
       i += 1) {
    last = data[i] + (int)i;
    out[i * 2] = last;
  }
  $MIX
  longs[1] = i;
  return last;
}
@@ chained: a list walked by pointers
struct $F_node {
  int value;
  struct $F_node *next;
};
static struct $F_node $F_nodes[8];
int $F(int k, int d) {
  int i;
  for (i = 0;
       i < 8;
       i++) {
    $F_nodes[i].value = data[i];
    $F_nodes[i].next = i < 7 ? &$F_nodes[i + 1] : 0;
  }
  struct $F_node *p = $F_nodes;
  int n = 0;
  while (p) {
    int v = p->value;
    if (v == $R1)
      v = $S1;
    n += v & 0xffff;
    out[$I1] = n;
    p = p->next;
  }
  $MIX
  return n;
}
