// Independent statements that a scheduler mixes.
int g, h, k;
__attribute__((noinline)) int mix(int a, int b, int c) {
  int x = a * b;
  int y = b * c;
  int z = c * a;
  g = x + 1;
  x = y * z;
  h = y + 2;
  y = z * x;
  k = z + 3;
  z = x * y;
  return x + y + z;
}
int main(void) {
  return (mix(2, 3, 5) + mix(7, 11, 13)) & 1;
}
