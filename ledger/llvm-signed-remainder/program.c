volatile long input = -8;
volatile long output;
int main(void) {
  long value = input;
  long rest = value % 3;
  output = value;
  return 0;
}
