// A diamond with a virtual base, pure and overridden functions, and calls through each base.
#include <cstdio>
struct Base {
  int id;
  explicit Base(int id) : id(id) {}
  virtual ~Base() = default;
  virtual int area() const = 0;
};
struct Wide : virtual Base {
  int width;
  explicit Wide(int w) : Base(1), width(w) {}
  int area() const override { return width; }
};
struct High : virtual Base {
  int height;
  explicit High(int h) : Base(2), height(h) {}
  int area() const override { return height; }
};
struct Box : Wide, High {
  Box(int w, int h) : Base(3), Wide(w), High(h) {}
  int area() const override {
    int a = width;
    int b = height;
    return a * b + id;
  }
};
static int ask(const Base &base) {
  int area = base.area();
  return area + base.id;
}
int main() {
  Box box(3, 4);
  Wide wide(7);
  const High &high = box;
  std::printf("%d %d %d\n", ask(box), ask(wide), high.area());
  return 0;
}
