/* Formats the corners of a polygon with fmt. */
#define FMT_HEADER_ONLY
#include <fmt/format.h>
#include <string>
#include <vector>
struct Point { int x, y; };
static int area(const std::vector<Point>& ps) {
    int sum = 0;
    for (size_t i = 0; i + 1 < ps.size(); ++i) {
        int cross = ps[i].x * ps[i + 1].y - ps[i + 1].x * ps[i].y;
        sum += cross;
    }
    return sum / 2;
}
static std::string show(const Point& p) {
    auto text = fmt::format("({}, {})", p.x, p.y);
    return text;
}
int main(int argc, char**) {
    std::vector<Point> ps;
    for (int i = 0; i < 5; ++i) {
        Point p{ i * i + argc, 7 - i };
        ps.push_back(p);
    }
    for (const auto& p : ps) {
        std::string s = show(p);
        fmt::print("{}\n", s);
    }
    fmt::print("{:x} {:>8} {:.3f}\n", area(ps), "abc", 3.14159 * argc);
    return 0;
}
