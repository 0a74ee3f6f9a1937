// Constructors that delegate, members with initializers, static members and locals.
#include <cstdio>
struct Counter {
  static int made;
  int start = 5;
  int step;
  Counter() : Counter(2) {}
  explicit Counter(int step) : step(step) { made++; }
  Counter(const Counter &other) : start(other.start + 1), step(other.step) { made++; }
  int next() {
    static int calls = 0;
    calls++;
    start += step;
    return start * calls;
  }
};
int Counter::made = 0;
static Counter global(4);
int main() {
  Counter plain;
  Counter copy = plain;
  int a = plain.next();
  int b = copy.next();
  int c = global.next();
  std::printf("%d %d %d %d\n", a, b, c, Counter::made);
  return 0;
}
