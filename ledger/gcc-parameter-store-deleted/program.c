volatile int input = 1;
volatile int output;
struct box { int a, b, c; };
__attribute__((noinline)) static int take(struct box box, int key) {
  int first = box.a + key;
  box.b = key;
  output = box.c;
  return first;
}
int main(void) {
  struct box made = {input, input + 1, input + 2};
  output = take(made, input + 4);
  return 0;
}
