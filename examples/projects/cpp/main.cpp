#include "prices.h"

int main(int argc, char **) {
  Basket basket;
  basket.add(250, 2);
  basket.add(99, argc);
  basket.print(1000);
  return basket.total() > 1000;
}
