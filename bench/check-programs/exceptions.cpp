/* Exceptions through destructors, templates with lambdas, virtual functions, containers. */
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
#include <map>
class Shape { public: virtual ~Shape() = default; virtual int area() const = 0; int id = 0; };
class Rect : public Shape { int w, h; public: Rect(int w_, int h_) : w(w_), h(h_) { id = w_ * 10 + h_; } int area() const override { return w * h; } };
class Square : public Rect { public: explicit Square(int s) : Rect(s, s) {} };
struct Guard { const char* name; int* depth; Guard(const char* n, int* d) : name(n), depth(d) { ++*depth; } ~Guard() { --*depth; std::printf("leave %s %d\n", name, *depth); } };
static int parse(const std::string& s) {
    int value = 0;
    for (char c : s) {
        if (c < '0' || c > '9')
            throw std::invalid_argument("bad digit");
        value = value * 10 + (c - '0');
        if (value > 10000)
            throw std::out_of_range("too big");
    }
    return value;
}
static int attempt(const std::string& s, int* depth) {
    Guard g("attempt", depth);
    int result = -1;
    try {
        Guard inner("inner", depth);
        result = parse(s);
        result += 5;
    } catch (const std::out_of_range& e) {
        result = -2;
    } catch (const std::exception& e) {
        std::printf("caught %s\n", e.what());
        result = -3;
    }
    return result;
}
template <typename T, typename F> static std::vector<T> keep(const std::vector<T>& in, F pred) {
    std::vector<T> out;
    for (const T& t : in)
        if (pred(t)) out.push_back(t);
    return out;
}
int main() {
    int depth = 0;
    std::vector<std::string> inputs = { "12", "7x", "99999", "345" };
    std::vector<int> results;
    for (const auto& in : inputs)
        results.push_back(attempt(in, &depth));
    int limit = 0;
    auto good = keep(results, [limit](int r) { return r > limit; });
    std::map<int, std::string> names;
    int at = 0;
    for (int r : good) names[r] = inputs[at++];
    std::vector<std::unique_ptr<Shape>> shapes;
    shapes.push_back(std::make_unique<Rect>(2, 3));
    shapes.push_back(std::make_unique<Square>(4));
    int sum = 0;
    for (auto& s : shapes) { int a = s->area(); sum += a * s->id; }
    std::function<int(int)> twice = [&sum](int x) { return x * 2 + sum; };
    std::printf("%d %zu %d %s\n", sum, good.size(), twice(3), names.begin()->second.c_str());
    return 0;
}
