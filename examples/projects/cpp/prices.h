#pragma once
#include <vector>

struct Price {
  int cents;
  int count;
};

class Basket {
  std::vector<Price> prices;

public:
  void add(int cents, int count);
  int total() const;
  void print(int paid) const;
};
