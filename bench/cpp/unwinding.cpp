// An exception that unwinds constructed members and array elements, and a function try block.
#include <cstdio>
#include <stdexcept>
static int alive;
struct Piece {
  int n;
  explicit Piece(int n) : n(n) {
    if (n == 3)
      throw std::runtime_error("third");
    alive++;
  }
  ~Piece() { alive--; }
};
struct Set {
  Piece first;
  Piece second;
  Set(int a, int b) try : first(a), second(b) {
    alive += 0;
  } catch (const std::exception &) {
    alive += 100;
  }
};
static int build(int a, int b) {
  int made = 0;
  try {
    Set set(a, b);
    made = set.first.n + set.second.n;
  } catch (...) {
    made = -1;
  }
  return made;
}
int main() {
  int good = build(1, 2);
  int bad = build(2, 3);
  std::printf("%d %d %d\n", good, bad, alive);
  return 0;
}
