// Exceptions that pass destructors, are caught by a base, and are thrown again.
#include <cstdio>
#include <stdexcept>
#include <string>
static int depth;
struct Guard {
  int level;
  explicit Guard(int level) : level(level) { depth += level; }
  ~Guard() { depth -= level; }
};
static int parse(const std::string &text) {
  Guard guard(static_cast<int>(text.size()));
  if (text.empty())
    throw std::invalid_argument("empty");
  int value = 0;
  for (char c : text) {
    if (c < '0' || c > '9')
      throw std::runtime_error("letter " + std::string(1, c));
    value = value * 10 + (c - '0');
  }
  return value;
}
static int careful(const std::string &text) {
  try {
    int value = parse(text);
    return value + depth;
  } catch (const std::invalid_argument &) {
    return -1;
  } catch (std::exception &e) {
    std::printf("again: %s\n", e.what());
    throw;
  }
}
int main() {
  int sum = 0;
  for (const char *text : {"12", "", "3x", "4"}) {
    try {
      sum += careful(text);
    } catch (const std::runtime_error &e) {
      sum += 100;
    }
  }
  std::printf("%d %d\n", sum, depth);
  return 0;
}
