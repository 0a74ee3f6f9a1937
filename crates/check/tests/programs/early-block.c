int data[8], total, dead;
volatile int in = 1;
static int scan(int mode, int limit) {
  int found = 0;
  for (int i = 0; i < limit; i++) {
    if (mode)
      found += data[i] + i;
    else
      dead = i;
  }
  return found;
}
static void fill(int *p, int n) {
  int k = 0;
  do {
    p[k] = k * 3;
    k++;
  } while (k < n);
}
int main(void) {
  int got;
  fill(data, 8);
  got = scan(in, 8);
  if (got > 1000) {
    dead = 4;
    total = 7;
  } else {
    total = got;
  }
  return total == 0;
}
// gdb shows `i` on line 4: it takes the described block of the inlined `scan` for one that the copy leaves out (rule
// inherited-block). The copy's own block of `i` begins at the loop.
// expect: gcc-12 -O2 native: clean
