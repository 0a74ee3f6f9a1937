volatile int input = 4;
volatile int output;
__attribute__((noinline)) static int next(void) {
  input = input + 1;
  return input;
}
__attribute__((noinline)) int work(int a, int b, int c, int count) {
  output = a + b + c + count;
  int first = next();
  int second = next();
  output = 1 << first;
  output = 1 << second;
  output = first;
  return second;
}
int main(void) {
  output = work(input, 2, 3, 90);
  return 0;
}
