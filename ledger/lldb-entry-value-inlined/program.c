volatile int seen;
__attribute__((noipa)) static void work(int amount) {
  seen = amount;
}
static inline __attribute__((always_inline)) int inner(int step) {
  work(step);
  seen = 2;
  return seen;
}
__attribute__((noipa)) static int outer(int none, int low, int step) {
  if (step < 1) step = 1;
  return inner(step);
}
__attribute__((noipa)) static int middle(int low, int high) {
  return outer(0, low, high) + 1;
}
int main(void) {
  return middle(20, 30) - 3;
}
