// Scoped enumerations, bit fields, unions and a switch over them.
#include <cstdio>
#include <cstdint>
enum class Color : std::uint8_t { red = 1, green = 2, blue = 4 };
struct Flags {
  unsigned low : 3;
  unsigned high : 5;
  bool set : 1;
};
union Bits {
  float real;
  std::uint32_t raw;
};
static int weight(Color color) {
  switch (color) {
  case Color::red:
    return 10;
  case Color::green:
    return 20;
  default:
    break;
  }
  return 30;
}
int main() {
  Flags flags = {5, 17, true};
  flags.low = static_cast<unsigned>(Color::blue);
  Bits bits;
  bits.real = 1.0f;
  unsigned exponent = bits.raw >> 23;
  int sum = weight(Color::red) + weight(Color::blue);
  std::printf("%u %u %d %u %d\n", flags.low, flags.high, (int)flags.set, exponent, sum);
  return 0;
}
