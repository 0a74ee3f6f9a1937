volatile int input = 1;
volatile int output;
__attribute__((noinline)) static int price(int kind) {
  int cost = 0, class = 0;
  switch (kind) {
  case 0: cost = 5; class = 1; break;
  case 1: cost = 9; class = 2; break;
  case 2: cost = 2; class = 3; break;
  case 3: cost = 8; class = 4; break;
  }
  output = kind;
  return cost;
}
int main(void) {
  output = price(input);
  return 0;
}
