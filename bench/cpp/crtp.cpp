// A base that knows its derived class, and a mixin on it.
#include <cstdio>
template <typename Self> struct Shape {
  int twice() const {
    const Self &self = static_cast<const Self &>(*this);
    int area = self.area();
    return area * 2;
  }
};
template <typename Base> struct Named : Base {
  const char *name;
  template <typename... Args> Named(const char *name, Args... args) : Base{{}, args...}, name(name) {}
};
struct Square : Shape<Square> {
  int side;
  int area() const { return side * side; }
  Square(Shape<Square>, int side) : side(side) {}
};
struct Strip : Shape<Strip> {
  int width, height;
  int area() const { return width * height; }
  Strip(Shape<Strip>, int w, int h) : width(w), height(h) {}
};
int main() {
  Named<Square> square("square", 3);
  Named<Strip> strip("strip", 2, 5);
  std::printf("%s %d %s %d\n", square.name, square.twice(), strip.name, strip.twice());
  return 0;
}
