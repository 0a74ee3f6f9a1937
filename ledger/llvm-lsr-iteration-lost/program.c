volatile int input = 5;
volatile int output;
__attribute__((noinline)) static void walk(unsigned long count) {
  for (unsigned long i = 0; i < count; i++) {
    unsigned long twice = i * 2;
    output = 1;
  }
}
int main(void) {
  walk(input);
  return 0;
}
