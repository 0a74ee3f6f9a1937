#include <cstdio>
// A virtual base: each constructor and destructor has a complete-object and a base-object clone.
struct Base {
  int mark;
  explicit Base(int m) : mark(m) { std::printf("base %d\n", mark); }
  virtual ~Base() { std::printf("~base %d\n", mark); }
};
struct Left : virtual Base {
  int left;
  explicit Left(int m) : Base(m), left(m * 2) {
    int twice = left + 1;
    std::printf("left %d\n", twice);
  }
  ~Left() override { std::printf("~left %d\n", left); }
};
struct Both : Left {
  int both;
  explicit Both(int m) : Base(m + 1), Left(m), both(m * 3) {
    int sum = left + both;
    std::printf("both %d\n", sum);
  }
};
int main(int argc, char **) {
  Left one(argc);
  Both two(argc + 4);
  return one.mark + two.both > 0 ? 0 : 1;
}
