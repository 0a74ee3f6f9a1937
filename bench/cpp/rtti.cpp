// dynamic_cast, typeid and a hierarchy that is asked what it is.
#include <cstdio>
#include <memory>
#include <typeinfo>
#include <vector>
struct Animal {
  virtual ~Animal() = default;
  virtual int legs() const { return 4; }
};
struct Bird : Animal {
  int wings = 2;
  int legs() const override { return 2; }
};
struct Fish : Animal {
  int legs() const override { return 0; }
};
int main() {
  std::vector<std::unique_ptr<Animal>> zoo;
  zoo.push_back(std::make_unique<Bird>());
  zoo.push_back(std::make_unique<Fish>());
  zoo.push_back(std::make_unique<Animal>());
  int legs = 0;
  int wings = 0;
  int plain = 0;
  for (const auto &animal : zoo) {
    legs += animal->legs();
    if (const Bird *bird = dynamic_cast<const Bird *>(animal.get()))
      wings += bird->wings;
    const Animal &it = *animal;
    if (typeid(it) == typeid(Animal))
      plain++;
  }
  std::printf("%d %d %d\n", legs, wings, plain);
  return 0;
}
