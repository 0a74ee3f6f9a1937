// Branches with equal ends, which are merged.
int g;
__attribute__((noinline)) int choose(int n, int v) {
  switch (n & 3) {
  case 0:
    v = v + 1;
    g = v;
    break;
  case 1:
    v = v + 2;
    g = v;
    break;
  default:
    v = v + 3;
    g = v;
    break;
  }
  return v;
}
int main(void) {
  int sum = 0;
  for (int i = 0; i < 6; i++)
    sum += choose(i, sum);
  return sum & 1;
}
