#include <cstdio>
#include <initializer_list>
class Meter {
  int total = 0;
  static int made;

 public:
  Meter() { made++; }
  [[gnu::noinline]] Meter &add(int n) {
    int part = n * 2;
    total += part;
    return *this;
  }
  [[gnu::noinline]] int shown() const {
    int rounded = total / 3;
    return rounded + made;
  }
  int operator()(int n) { return add(n).shown(); }
};
int Meter::made = 0;
int main(int argc, char **) {
  Meter meter;
  int last = 0;
  for (int i : {4, 5, 6})
    last = meter(i + argc);
  std::printf("%d\n", last);
  return 0;
}
