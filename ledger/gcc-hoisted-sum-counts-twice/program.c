volatile int input = 1;
volatile int even, odd;
__attribute__((noinline)) static int steps(int left, int count) {
  while (left) {
    if (left & 1) {
      odd = left;
      count++;
      odd = 1;
    } else {
      even = left;
      count++;
      even = 1;
    }
    left = left / 2;
  }
  return count;
}
int main(void) {
  return steps(input, 40) == 0;
}
