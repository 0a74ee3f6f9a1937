// Strings and views of them: searching, cutting, joining and numbers in them.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>
static std::vector<std::string_view> cut(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos)
      return parts;
    text.remove_prefix(end + 1);
  }
}
int main() {
  std::string line = "name=alpha;size=12;empty=";
  std::string joined;
  int numbers = 0;
  for (std::string_view part : cut(line, ';')) {
    std::size_t equals = part.find('=');
    std::string value(part.substr(equals + 1));
    if (!value.empty() && value[0] >= '0' && value[0] <= '9')
      numbers += std::stoi(value);
    joined += value + "/";
  }
  std::printf("%s %d\n", joined.c_str(), numbers);
  return 0;
}
