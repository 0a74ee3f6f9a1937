/* Filters, transforms and slides over a list with range-v3. */
#include <range/v3/all.hpp>
#include <cstdio>
#include <vector>
namespace rv = ranges::views;
static int sum_odd_squares(const std::vector<int>& v) {
    int sum = 0;
    auto odd = v | rv::filter([](int x) { return x % 2 == 1; }) | rv::transform([](int x) { return x * x; });
    for (int q : odd) {
        sum += q;
    }
    return sum;
}
static std::vector<int> windows(const std::vector<int>& v, int width) {
    std::vector<int> out;
    for (auto w : v | rv::sliding(width)) {
        int s = ranges::accumulate(w, 0);
        out.push_back(s);
    }
    return out;
}
int main() {
    auto v = rv::iota(1, 9) | ranges::to<std::vector<int>>();
    int s = sum_odd_squares(v);
    auto ws = windows(v, 3);
    int last = ws.back();
    std::printf("%d %d %zu\n", s, last, ws.size());
    return 0;
}
