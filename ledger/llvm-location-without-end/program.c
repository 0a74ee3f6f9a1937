volatile int input = 10;
volatile int output;
__attribute__((noinline)) static int steps(int limit) {
  int at = 0, last = 0;
  do {
    last = at;
    at += 3;
    output = at;
  } while (at < limit);
  output = last;
  return limit;
}
int main(void) {
  output = steps(input);
  return 0;
}
