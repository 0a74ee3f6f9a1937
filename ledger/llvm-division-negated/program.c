volatile int input = 100;
volatile int output;
__attribute__((noinline)) static int share(int value) {
  int part = value / 42;
  output = value;
  return value < 0 ? part : 24;
}
int main(void) {
  output = share(input);
  return 0;
}
