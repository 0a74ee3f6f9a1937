// Lambdas that capture by value, by reference and by move, and one that is generic.
#include <cstdio>
#include <functional>
#include <memory>
static int apply(const std::function<int(int)> &f, int x) {
  int result = f(x);
  return result;
}
int main() {
  int base = 10;
  int calls = 0;
  auto add = [base](int x) { return base + x; };
  auto count = [&calls, add](int x) {
    calls++;
    return add(x) * 2;
  };
  auto owned = [p = std::make_unique<int>(5)](int x) mutable {
    *p += x;
    return *p;
  };
  auto any = [](auto a, auto b) { return a < b ? b : a; };
  int first = apply(add, 1);
  int second = apply(count, 2);
  int third = owned(3) + owned(4);
  std::printf("%d %d %d %d %d\n", first, second, third, calls, any(first, second));
  return 0;
}
