volatile int input = 1;
volatile int output;
struct box { int a, b, c; };
__attribute__((noinline)) static int take(struct box box, int key) {
  output = box.c;
  return box.a + key;
}
int main(void) {
  struct box made = {input, input + 1, input + 2};
  output = take(made, input + 4);
  return 0;
}
