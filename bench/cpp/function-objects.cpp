// State machines of function objects that hand each other on.
#include <cstdio>
#include <map>
#include <string>
struct Machine {
  enum class State { start, number, done };
  State state = State::start;
  int value = 0;
  bool feed(char c) {
    switch (state) {
    case State::start:
      if (c == '-')
        return true;
      state = State::number;
      [[fallthrough]];
    case State::number:
      if (c < '0' || c > '9') {
        state = State::done;
        return false;
      }
      value = value * 10 + (c - '0');
      return true;
    case State::done:
      break;
    }
    return false;
  }
};
int main() {
  std::string text = "-42;";
  Machine machine;
  int fed = 0;
  for (char c : text) {
    if (!machine.feed(c))
      break;
    fed++;
  }
  std::map<int, const char *> names = {{42, "right"}, {0, "nothing"}};
  const char *name = names.at(machine.value);
  std::printf("%d %d %s\n", machine.value, fed, name);
  return 0;
}
