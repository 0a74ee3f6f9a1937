// Loops over a matrix in a class with inlined accessors: what optimizers like to turn round.
#include <cstdio>
#include <vector>
class Matrix {
  int rows, columns;
  std::vector<int> cells;

public:
  Matrix(int rows, int columns) : rows(rows), columns(columns), cells(rows * columns) {}
  int &at(int r, int c) { return cells[r * columns + c]; }
  int at(int r, int c) const { return cells[r * columns + c]; }
  Matrix times(const Matrix &other) const {
    Matrix product(rows, other.columns);
    for (int r = 0; r < rows; r++)
      for (int c = 0; c < other.columns; c++) {
        int sum = 0;
        for (int k = 0; k < columns; k++)
          sum += at(r, k) * other.at(k, c);
        product.at(r, c) = sum;
      }
    return product;
  }
  int trace() const {
    int sum = 0;
    for (int i = 0; i < rows; i++)
      sum += at(i, i);
    return sum;
  }
};
int main() {
  Matrix a(3, 3);
  for (int i = 0; i < 9; i++)
    a.at(i / 3, i % 3) = i;
  Matrix b = a.times(a);
  int trace = b.trace();
  std::printf("%d %d\n", trace, b.at(2, 0));
  return 0;
}
