volatile int input = -8;
volatile int output;
int main(void) {
  int value = input;
  int half = value >> 1;
  int third = value / 3;
  int rest = value % 3;
  int size = __builtin_abs(value);
  output = value;
  return 0;
}
