#include "parts.h"

namespace {
int order;

struct Part {
  int n;
  explicit Part(int n) : n(n) {}
  ~Part() { order = order * 10 + n; }
};

int use(const Part &part) {
  return part.n;
}
} // namespace

int order_of(int first, int second) {
  int value = use(Part(first)) + use(Part(second));
  {
    Part row[2] = {Part(5), Part(6)};
    value += row[1].n;
  }
  return order + value;
}
