volatile int input = 1;
volatile int output;
__attribute__((noinline)) static void choose(int flag, int level) {
  int mode = 1;
  if (flag) {
    mode = 2;
    output = level;
  } else {
    mode = 3;
    output = level;
  }
  output = 9;
}
int main(void) {
  choose(input, 5);
  return 0;
}
