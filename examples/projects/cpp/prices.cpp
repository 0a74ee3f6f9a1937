#include "prices.h"
#include <cstdio>

void Basket::add(int cents, int count) {
  Price price = {cents, count};
  prices.push_back(price);
}

int Basket::total() const {
  int sum = 0;
  for (const Price &price : prices) {
    int cents = price.cents;
    sum += cents * price.count;
  }
  return sum;
}

void Basket::print(int paid) const {
  int sum = total();
  int change = paid - sum;
  std::printf("%d cents, %d back\n", sum, change);
}
