// The assignments of both branches leave no code, and the value from before them shows on the line behind.
// expect: clang-16 -O1,-O2,-O3 native: stale 14 state
// expect: gcc-12 -O1,-O2,-O3 native: clean
volatile int v;
__attribute__((noinline)) int f(int n) {
  int state = 0;
  if (n & 1) {
    v = 1;
    state = 1;
  } else {
    v = 2;
    state = 2;
  }
  v = 3;
  state = 4;
  v = 4;
  return n;
}
int main(void) {
  return f(3) + f(2) - 5;
}
