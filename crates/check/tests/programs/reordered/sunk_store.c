// A global that is kept in a register through a loop and stored behind it.
static int count;
int seen;
__attribute__((noinline)) int fill(int n) {
  int v = 1;
  for (int i = 0; i < n; i++) {
    v = v * 3;
    count += v;
    v = v - i;
  }
  seen = count;
  return v;
}
int main(void) {
  return (fill(6) + fill(9)) & 1;
}
