volatile int input = 4;
volatile int output;
__attribute__((noinline)) static void count(int steps) {
  int last = -1;
  for (int i = 0; i < steps; i++)
    last = i;
  output = steps;
}
int main(void) {
  count(input);
  return 0;
}
