// Loops in one another, of which the optimizer may change the inner one's order of work.
int grid[4][4];
__attribute__((noinline)) int walk(int n) {
  int sum = 0;
  for (int i = 0; i < 4; i++) {
    int row = i * n;
    for (int j = 0; j < 4; j++) {
      int cell = row + j;
      grid[i][j] = cell;
      sum += cell;
    }
  }
  return sum;
}
int main(void) {
  return (walk(3) + walk(4)) & 1;
}
