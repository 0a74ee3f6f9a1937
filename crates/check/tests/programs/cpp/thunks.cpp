#include <cstdio>
struct First {
  virtual int one(int n) = 0;
  virtual ~First() = default;
};
struct Second {
  int kept = 3;
  virtual int two(int n) = 0;
  virtual ~Second() = default;
};
struct Joined : First, Second {
  int one(int n) override {
    int more = n + kept;
    return more;
  }
  // Called through Second: a thunk moves `this` and jumps here.
  int two(int n) override {
    int less = n - kept;
    kept += less;
    return less;
  }
};
[[gnu::noinline]] static int ask(Second *second, int n) {
  int told = second->two(n);
  return told * 2;
}
[[gnu::noinline]] static int ask_first(First *first, int n) {
  int told = first->one(n);
  return told + 1;
}
int main(int argc, char **) {
  Joined joined;
  int sum = 0;
  for (int i = 0; i < 3; i++)
    sum += ask(&joined, argc + i) + ask_first(&joined, i);
  std::printf("%d\n", sum);
  return 0;
}
