int g;
int recursion(int a) {
  if (a < 2)
    return a;
  if (a & 4)
    return recursion(a - 1) + 3;
  return recursion(a - 2) + 7;
}
int main(void) {
  g = recursion(3);
  return g - 8;
}
