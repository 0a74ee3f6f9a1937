// Operators of a class: arithmetic, comparison, index, call and conversion.
#include <compare>
#include <cstdio>
struct Fraction {
  int above;
  int below;
  Fraction operator+(const Fraction &o) const { return {above * o.below + o.above * below, below * o.below}; }
  Fraction &operator*=(int k) {
    above *= k;
    return *this;
  }
  auto operator<=>(const Fraction &o) const { return above * o.below <=> o.above * below; }
  bool operator==(const Fraction &o) const = default;
  explicit operator double() const { return double(above) / below; }
  int operator[](int i) const { return i ? below : above; }
  int operator()(int x) const { return x * above / below; }
};
int main() {
  Fraction half = {1, 2};
  Fraction third = {1, 3};
  Fraction sum = half + third;
  sum *= 3;
  bool less = third < half;
  bool same = half == third;
  std::printf("%d/%d %d %d %f %d\n", sum[0], sum[1], less, same, double(sum), half(9));
  return 0;
}
