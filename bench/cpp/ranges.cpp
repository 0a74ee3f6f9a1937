// Views that are put together and read lazily.
#include <cstdio>
#include <ranges>
#include <vector>
int main() {
  std::vector<int> numbers = {1, 2, 3, 4, 5, 6};
  auto even = [](int n) { return n % 2 == 0; };
  auto square = [](int n) { return n * n; };
  int sum = 0;
  for (int n : numbers | std::views::filter(even) | std::views::transform(square)) {
    int before = sum;
    sum = before + n;
  }
  int last = 0;
  for (int n : std::views::iota(1, 4))
    last = n;
  std::printf("%d %d\n", sum, last);
  return 0;
}
