volatile int input = 5;
volatile int output;
__attribute__((noinline)) static void fetch(int *slot) {
  *slot = input;
}
int main(void) {
  int count = 0;
  fetch(&count);
  output = 1;
  output = count;
  return 0;
}
