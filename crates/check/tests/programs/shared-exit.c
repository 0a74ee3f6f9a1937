int flag = 1, hot, cold;
volatile int input = 3;
static int pick(int x) {
  if (x > 10) {
    cold = x;
    return 1;
  }
  if (x > 2) {
    hot = x;
    return 1;
  }
  cold = 2;
  return 1;
}
static int loop(int n) {
  int r = 0;
  for (int i = 0; i < n; i++) {
    if (flag)
      r += i;
    else
      r -= cold;
  }
  return r;
}
int main(void) {
  int k = pick(input);
  k += loop(input);
  return k == 0;
}
// Both ways out of `pick` end in one instruction; the line table names the one that never runs.
// expect: gcc-12 -Og native: line 13
