// A load that leaves its loop: the line runs before the loop, with the values from before it.
int limit = 5, table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__attribute__((noinline)) int total(const int *p) {
  int sum = 0;
  int last = 0;
  for (int i = 0; i < 8; i++) {
    last = limit;
    sum += p[i] * last;
  }
  return sum + last;
}
int main(void) {
  return total(table) & 1;
}
