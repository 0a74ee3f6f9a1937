volatile unsigned long input = 0x123456789abcdef;
volatile unsigned long output;
int main(void) {
  unsigned long whole = input;
  unsigned low = whole;
  unsigned shifted = low >> 4;
  unsigned quotient = low / 3;
  output = whole;
  return 0;
}
