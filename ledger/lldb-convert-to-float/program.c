volatile int sink;
__attribute__((noinline)) static void count(int items) {
  double share = items;
  sink = items;
  sink = -items;
}
int main(void) {
  count(4);
  return 0;
}
