// A parser of expressions by recursive descent, with a class that holds its state.
#include <cctype>
#include <cstdio>
#include <string>
class Parser {
  std::string text;
  std::size_t at = 0;
  bool take(char c) {
    if (at < text.size() && text[at] == c) {
      at++;
      return true;
    }
    return false;
  }
  int number() {
    int value = 0;
    while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])))
      value = value * 10 + (text[at++] - '0');
    return value;
  }
  int factor() {
    if (take('(')) {
      int value = sum();
      take(')');
      return value;
    }
    return number();
  }
  int product() {
    int value = factor();
    while (take('*'))
      value *= factor();
    return value;
  }

public:
  explicit Parser(std::string text) : text(std::move(text)) {}
  int sum() {
    int value = product();
    for (;;) {
      if (take('+'))
        value += product();
      else if (take('-'))
        value -= product();
      else
        return value;
    }
  }
};
int main() {
  Parser parser("2*(3+4)-5*2");
  int value = parser.sum();
  std::printf("%d\n", value);
  return 0;
}
