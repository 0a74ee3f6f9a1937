// The order of destruction: members, bases, arrays, temporaries and statics.
#include <cstdio>
static int order;
struct Part {
  int n;
  explicit Part(int n) : n(n) {}
  ~Part() { order = order * 10 + n; }
};
struct Whole : Part {
  Part left;
  Part right;
  Whole() : Part(1), left(2), right(3) {}
  ~Whole() { order = order * 10 + 4; }
};
static int use(const Part &part) { return part.n; }
int main() {
  {
    Whole whole;
    order = whole.n;
  }
  int first = order;
  order = 0;
  int value = use(Part(7)) + use(Part(8));
  {
    Part row[2] = {Part(5), Part(6)};
    value += row[1].n;
  }
  std::printf("%d %d %d\n", first, order, value);
  return 0;
}
