// Parameter packs, folds and perfect forwarding.
#include <cstdio>
#include <utility>
template <typename... Numbers> int sum(Numbers... numbers) {
  return (0 + ... + numbers);
}
template <typename First, typename... Rest> int count(const First &, const Rest &...rest) {
  if constexpr (sizeof...(rest) == 0)
    return 1;
  else
    return 1 + count(rest...);
}
static int pick(int &) { return 1; }
static int pick(int &&) { return 2; }
template <typename T> int forward(T &&value) { return pick(std::forward<T>(value)); }
int main() {
  int n = 4;
  int total = sum(1, 2, n);
  int many = count('a', 2, 3.0, "x");
  int kinds = forward(n) * 10 + forward(5);
  std::printf("%d %d %d\n", total, many, kinds);
  return 0;
}
