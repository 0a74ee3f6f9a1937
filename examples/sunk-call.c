int g = 1, h = 2, out;
volatile int v = 5;
int choose(int x, int y) {
  int r;
  if (x > y)
    r = x - y;
  else
    r = y - x;
  out = r;
  return r;
}
int walk(int *p, int n) {
  int sum = 0;
  int i = 0;
  do {
    if (p[i] < 0)
      goto done;
    sum += p[i];
    i++;
  } while (i < n);
done:
  return sum;
}
int main(void) {
  int data[4] = {1, 2, 3, 4};
  int a = choose(v, 3);
  int b = walk(data, 4);
  switch (a) {
  case 2:
    g = b;
    break;
  case 3:
    g = h;
    break;
  default:
    g = 0;
    break;
  }
  return g == 0;
}
// gcc sinks the pure call `walk` into the branch that needs it; on line 28 `b` is said to be in the register that
// still holds the result of `choose`.
// expect: gcc-12 -O1 native,gdb: value 28 b
