volatile int input = 100;
volatile int output;
__attribute__((noinline)) static int clamp(int value) {
  int rest = value % 42;
  int inside = value < 42 && value > -42;
  output = value;
  return inside ? rest : 24;
}
int main(void) {
  output = clamp(input);
  return 0;
}
