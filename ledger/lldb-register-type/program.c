volatile double sink;
__attribute__((noinline)) static void scale(double length) {
  double twice = length * 2;
  sink = length;
  sink = -length;
}
int main(void) {
  scale(1.5);
  return 0;
}
