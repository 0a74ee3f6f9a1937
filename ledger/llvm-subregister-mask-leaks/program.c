volatile int input = 6;
volatile int output;
__attribute__((noinline)) static int span(int *from, int count) {
  int *end = from + count;
  long length = end - from;
  output = count;
  return *from;
}
int main(void) {
  int cells[8] = {input};
  output = span(cells, input);
  return 0;
}
