// unique_ptr, shared_ptr, weak_ptr and a deleter of our own.
#include <cstdio>
#include <memory>
#include <vector>
struct Node {
  int value;
  std::shared_ptr<Node> next;
  std::weak_ptr<Node> back;
};
static int freed;
int main() {
  auto first = std::make_shared<Node>();
  first->value = 1;
  first->next = std::make_shared<Node>();
  first->next->value = 2;
  first->next->back = first;
  int sum = 0;
  for (std::shared_ptr<Node> at = first; at; at = at->next)
    sum += at->value;
  auto release = [](int *p) {
    freed += *p;
    delete p;
  };
  {
    std::unique_ptr<int, decltype(release)> owned(new int(7), release);
    *owned += 1;
  }
  long uses = first.use_count();
  std::printf("%d %d %ld %d\n", sum, freed, uses, (int)first->next->back.expired());
  return 0;
}
