// Pointers to members and functions, and std::bind over them.
#include <cstdio>
#include <functional>
struct Device {
  int level = 1;
  int raise(int by) {
    level += by;
    return level;
  }
  int lower(int by) {
    level -= by;
    return level;
  }
};
static int twice(int x) { return 2 * x; }
int main() {
  Device device;
  int Device::*field = &Device::level;
  int (Device::*act)(int) = &Device::raise;
  int up = (device.*act)(5);
  act = &Device::lower;
  int down = (device.*act)(2);
  device.*field += 100;
  int (*plain)(int) = twice;
  auto bound = std::bind(&Device::raise, &device, std::placeholders::_1);
  int last = bound(plain(3));
  std::printf("%d %d %d\n", up, down, last);
  return 0;
}
