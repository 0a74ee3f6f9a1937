// What is computed while compiling, and the same at run time.
#include <array>
#include <cstdio>
constexpr int fibonacci(int n) {
  int a = 0;
  int b = 1;
  for (int i = 0; i < n; i++) {
    int next = a + b;
    a = b;
    b = next;
  }
  return a;
}
constexpr std::array<int, 5> table() {
  std::array<int, 5> made{};
  for (int i = 0; i < 5; i++)
    made[i] = fibonacci(i + 5);
  return made;
}
int main(int argc, char **) {
  constexpr auto known = table();
  int late = fibonacci(argc + 9);
  int sum = 0;
  for (int n : known)
    sum += n;
  std::printf("%d %d\n", sum, late);
  return 0;
}
