// A function that is inlined twice into one caller, mixed with it.
int g, h;
static int twice(int v) {
  v = v * 2;
  g += v;
  v = v + 1;
  return v;
}
__attribute__((noinline)) int both(int a, int b) {
  int x = twice(a);
  int y = twice(b);
  h = x * y;
  x = twice(y);
  return x + y;
}
int main(void) {
  return (both(1, 2) + both(3, 4)) & 1;
}
