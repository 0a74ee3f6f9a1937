volatile int input = -5;
volatile int output;
int main(void) {
  int value = input;
  int differs = value != -5;
  output = value;
  return 0;
}
