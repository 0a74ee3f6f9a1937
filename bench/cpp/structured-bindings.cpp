// Structured bindings of arrays, tuples and aggregates, by value and by reference.
#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
struct Point {
  int x;
  int y;
};
static std::tuple<int, double> split(int n) {
  return {n / 2, n * 0.5};
}
int main() {
  Point p = {3, 4};
  auto &[x, y] = p;
  x += 10;
  auto [half, exact] = split(x);
  int row[2] = {5, 6};
  const auto [a, b] = row;
  std::map<std::string, int> ages = {{"ann", 41}, {"bob", 17}};
  int total = 0;
  for (const auto &[name, age] : ages) {
    int letters = static_cast<int>(name.size());
    total += age * letters;
  }
  std::printf("%d %d %d %f %d %d %d\n", p.x, y, half, exact, a, b, total);
  return 0;
}
