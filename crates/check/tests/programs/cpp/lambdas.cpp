#include <cstdio>
template <class F>
[[gnu::noinline]] static int apply(F f, int n) {
  int got = f(n);
  return got + 1;
}
int main(int argc, char **) {
  int base = argc * 5;
  auto add = [base](int n) {
    int more = base + n;
    return more;
  };
  auto count = [&base](int n) mutable {
    base += n;
    return base;
  };
  int (*plain)(int) = [](int n) { return n * n; };
  int a = apply(add, 2), b = apply(count, 3), c = plain(4);
  std::printf("%d %d %d %d\n", a, b, c, base);
  return 0;
}
