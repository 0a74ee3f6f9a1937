volatile int input = -8;
volatile int output;
int main(void) {
  int value = input;
  int half = value >> 1;
  int third = value / 3;
  int below = value < 2;
  output = value;
  return 0;
}
