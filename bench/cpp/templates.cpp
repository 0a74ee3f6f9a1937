// Function and class templates, one of them recursive, and a specialization.
#include <cstdio>
template <typename T> T twice(T x) { return x + x; }
template <int N> struct Power {
  static int of(int x) {
    int rest = Power<N - 1>::of(x);
    return x * rest;
  }
};
template <> struct Power<0> {
  static int of(int) { return 1; }
};
template <typename T, int N> struct Row {
  T items[N];
  T sum() const {
    T total = T();
    for (int i = 0; i < N; i++)
      total += items[i];
    return total;
  }
};
int main() {
  Row<int, 4> row = {{1, 2, 3, 4}};
  Row<double, 2> pair = {{0.5, 0.25}};
  int power = Power<3>::of(row.items[2]);
  std::printf("%d %d %f %d\n", twice(row.sum()), power, pair.sum(), (int)twice('a'));
  return 0;
}
