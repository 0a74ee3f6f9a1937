volatile int probe = 7;
volatile int output;
__attribute__((noinline)) static int work(int value) {
  output = value;
  return value * 3;
}
int main(void) {
  int seen = probe;
  int got = work(5);
  output = got;
  return 0;
}
