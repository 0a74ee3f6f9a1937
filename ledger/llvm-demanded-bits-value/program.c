volatile unsigned input = 6;
volatile unsigned output;
__attribute__((noinline)) static unsigned char low(unsigned word) {
  unsigned marked = word | 0xff00;
  unsigned tripled = marked * 3;
  output = word;
  return tripled;
}
int main(void) {
  output = low(input);
  return 0;
}
