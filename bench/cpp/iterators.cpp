// An iterator of our own in a range-based loop and in algorithms.
#include <algorithm>
#include <cstdio>
#include <iterator>
class Steps {
  int from, to, by;

public:
  struct iterator {
    using iterator_category = std::forward_iterator_tag;
    using value_type = int;
    using difference_type = std::ptrdiff_t;
    using pointer = const int *;
    using reference = int;
    int at;
    int by;
    int operator*() const { return at; }
    iterator &operator++() {
      at += by;
      return *this;
    }
    bool operator!=(const iterator &o) const { return at < o.at; }
    bool operator==(const iterator &o) const { return at >= o.at; }
  };
  Steps(int from, int to, int by) : from(from), to(to), by(by) {}
  iterator begin() const { return {from, by}; }
  iterator end() const { return {to, by}; }
};
int main() {
  Steps steps(1, 20, 4);
  int sum = 0;
  for (int n : steps)
    sum += n;
  auto big = std::find_if(steps.begin(), steps.end(), [](int n) { return n > 6; });
  int found = *big;
  std::printf("%d %d\n", sum, found);
  return 0;
}
