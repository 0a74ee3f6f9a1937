// Concepts that choose between overloads.
#include <concepts>
#include <cstdio>
#include <string>
template <typename T>
concept Sized = requires(const T &t) {
  { t.size() } -> std::convertible_to<std::size_t>;
};
template <std::integral T> int measure(T value) {
  int digits = 0;
  while (value) {
    digits++;
    value /= 10;
  }
  return digits;
}
template <Sized T> int measure(const T &value) {
  int size = static_cast<int>(value.size());
  return size;
}
int main() {
  int number = measure(12345);
  int text = measure(std::string("abc"));
  std::printf("%d %d\n", number, text);
  return 0;
}
