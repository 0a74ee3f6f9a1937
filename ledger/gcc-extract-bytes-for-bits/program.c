volatile unsigned input = 0x12345678;
volatile unsigned output;
__attribute__((noinline)) static void split(unsigned word) {
  unsigned middle = (word >> 8) & 255;
  output = middle;
  output = 1;
  output = word * 5;
  output = word;
}
int main(void) {
  split(input);
  return 0;
}
