// A short loop that is unrolled: one line has many copies.
int out[4];
__attribute__((noinline)) int four(int a) {
  int v = a;
  for (int i = 0; i < 4; i++) {
    v += i;
    out[i] = v;
    v ^= 5;
  }
  return v;
}
int main(void) {
  return (four(3) + four(8)) & 1;
}
