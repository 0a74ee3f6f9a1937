// Namespaces: nested, inline, anonymous and aliased, and functions found by their arguments.
#include <cstdio>
namespace geo {
inline namespace v2 {
struct Line {
  int from;
  int to;
};
int length(const Line &line) {
  int l = line.to - line.from;
  return l < 0 ? -l : l;
}
} // namespace v2
namespace tools {
int scale(int x, int by = 3) { return x * by; }
} // namespace tools
} // namespace geo
namespace {
int hidden(int x) {
  int y = x + 1;
  return y * y;
}
} // namespace
int main() {
  namespace t = geo::tools;
  geo::Line line{9, 2};
  int l = length(line);
  int s = t::scale(l);
  int h = hidden(s);
  std::printf("%d %d %d\n", l, s, h);
  return 0;
}
