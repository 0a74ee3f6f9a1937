volatile int input = -4;
volatile int output;
__attribute__((noinline)) static void smaller(int left, int right) {
  int which = 1;
  output = right;
  if (right < left) {
    which = 2;
    left = right;
  }
  output = left;
}
int main(void) {
  smaller(4, input);
  return 0;
}
