#include <cstdio>
struct Pair {
  int key;
  long value;
};
[[gnu::noinline]] static Pair make(int n) { return {n, n * 10L}; }
int main(int argc, char **) {
  long sum = 0;
  Pair pairs[3] = {make(argc), make(argc + 1), make(argc + 2)};
  for (const auto &[key, value] : pairs) {
    long part = key + value;
    sum += part;
  }
  auto [first, second] = make(7);
  first += 1;
  int numbers[] = {1, 2, 3};
  auto &[x, y, z] = numbers;
  y += 5;
  std::printf("%ld %d %ld %d %d %d\n", sum, first, second, x, y, z);
  return 0;
}
