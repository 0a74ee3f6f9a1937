volatile int input = 1;
volatile int output;
__attribute__((noinline)) static int add(int flag, int sum, int more) {
  int steps = 1;
  if (flag) {
    steps = 2;
    sum = sum + more;
  }
  output = sum;
  return sum;
}
int main(void) {
  output = add(input, input + 2, input + 5);
  return 0;
}
