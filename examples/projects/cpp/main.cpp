#include "parts.h"
#include <cstdio>

int total(const std::vector<int> &numbers) {
  int sum = 0;
  for (int n : numbers)
    sum += n;
  return sum;
}

int main() {
  std::vector<int> numbers = {7, 8};
  int order = order_of(numbers[0], numbers[1]);
  std::printf("%d %d\n", order, total(numbers));
  return 0;
}
