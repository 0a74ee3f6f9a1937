// Streams into and out of strings, with manipulators and an operator of our own.
#include <iomanip>
#include <iostream>
#include <sstream>
struct Money {
  long cents;
};
std::ostream &operator<<(std::ostream &out, const Money &money) {
  long whole = money.cents / 100;
  long rest = money.cents % 100;
  return out << whole << '.' << std::setw(2) << std::setfill('0') << rest;
}
int main() {
  std::istringstream in("12 7 x 9");
  int value = 0;
  int sum = 0;
  while (in >> value)
    sum += value;
  in.clear();
  std::string word;
  in >> word;
  std::ostringstream out;
  out << Money{sum * 101L} << ' ' << word;
  std::cout << out.str() << std::endl;
  return 0;
}
