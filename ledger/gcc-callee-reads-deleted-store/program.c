volatile int input = 1;
volatile int output;
struct record { long a; int b; char c; };
__attribute__((noinline)) static void leave_ones(void) {
  volatile char trace[200];
  for (int i = 0; i < 200; i++)
    trace[i] = 1;
}
__attribute__((noinline)) static void edit(struct record *at) {
  struct record copy = *at;
  copy.b += 2;
  *at = copy;
  output = copy.b;
}
int main(void) {
  struct record made = {input, input + 1, 'a'};
  leave_ones();
  edit(&made);
  output = made.b;
  return 0;
}
