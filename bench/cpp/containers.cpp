// vector, map, set, deque and list with the algorithms that walk them.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <list>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>
int main() {
  std::vector<int> numbers = {5, 3, 8, 1};
  std::sort(numbers.begin(), numbers.end());
  numbers.push_back(13);
  std::map<std::string, int> count;
  for (const std::string &word : {std::string("a"), std::string("b"), std::string("a")})
    count[word]++;
  std::set<int> odd;
  for (int n : numbers)
    if (n % 2)
      odd.insert(n);
  std::deque<int> queue(numbers.begin(), numbers.end());
  queue.pop_front();
  std::list<int> list(odd.begin(), odd.end());
  list.reverse();
  int sum = std::accumulate(queue.begin(), queue.end(), 0);
  auto found = std::find(list.begin(), list.end(), 5);
  int at = static_cast<int>(std::distance(list.begin(), found));
  std::printf("%d %d %d %zu\n", sum, at, count["a"], odd.size());
  return 0;
}
