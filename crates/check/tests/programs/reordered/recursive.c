// Recursion that becomes a loop.
int depth;
__attribute__((noinline)) static int down(int n, int sum) {
  depth = n;
  if (n == 0)
    return sum;
  sum = sum + n;
  return down(n - 1, sum);
}
int main(void) {
  return (down(5, 0) + down(3, 1)) & 1;
}
