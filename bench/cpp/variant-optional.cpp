// variant with a visitor, optional and any.
#include <any>
#include <cstdio>
#include <optional>
#include <string>
#include <variant>
using Value = std::variant<int, double, std::string>;
struct Size {
  int operator()(int n) const { return n; }
  int operator()(double d) const { return static_cast<int>(d * 10); }
  int operator()(const std::string &s) const { return static_cast<int>(s.size()); }
};
static std::optional<int> root(int square) {
  for (int i = 0; i * i <= square; i++)
    if (i * i == square)
      return i;
  return std::nullopt;
}
int main() {
  int sum = 0;
  for (const Value &value : {Value(3), Value(2.5), Value(std::string("four"))}) {
    int size = std::visit(Size{}, value);
    sum += size;
  }
  std::optional<int> five = root(25);
  std::optional<int> none = root(26);
  std::any any = 7;
  int held = std::any_cast<int>(any);
  std::printf("%d %d %d %d\n", sum, five.value_or(-1), none.value_or(-1), held);
  return 0;
}
