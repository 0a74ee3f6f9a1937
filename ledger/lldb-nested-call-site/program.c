volatile int seen;
__attribute__((noipa)) static void work(int amount) {
  seen = amount;
}
__attribute__((noipa)) static void callee(int value) {
  work(value + 1);
  seen = 2;
}
static inline __attribute__((always_inline)) void middle(int base) {
  callee(base + 5);
  seen = base;
}
int main(int argc, char **argv) {
  middle(argc);
  return 0;
}
