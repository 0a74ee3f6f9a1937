volatile unsigned long input = 0xffffffffffffffff;
volatile unsigned long output;
int main(void) {
  unsigned long value = input;
  int small = value < 5;
  output = value;
  return 0;
}
