volatile int input = 1;
volatile int output;
__attribute__((noinline)) static void pick(int flag, int left, int right) {
  int chosen = left;
  if (flag)
    chosen = right;
  output = left;
  output = right;
}
int main(void) {
  pick(input, 10, 20);
  return 0;
}
