// References as parameters, members, results and to temporaries whose life they prolong.
#include <cstdio>
#include <string>
#include <utility>
struct View {
  const int &number;
  int &count;
  int read() const {
    count++;
    return number;
  }
};
static int &larger(int &a, int &b) {
  if (a < b)
    return b;
  return a;
}
static void take(std::string &&text, int &length) {
  std::string own = std::move(text);
  length = static_cast<int>(own.size());
}
int main() {
  int a = 3;
  int b = 8;
  larger(a, b) = 1;
  int reads = 0;
  View view{a, reads};
  a = view.read() + view.read();
  int length = 0;
  take(std::string("temporary"), length);
  const std::string &kept = std::string("kept") + "!";
  std::printf("%d %d %d %d %s\n", a, b, reads, length, kept.c_str());
  return 0;
}
