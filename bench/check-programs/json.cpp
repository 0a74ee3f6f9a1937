/* Reads, adds up and prints a list with nlohmann-json. */
#include <nlohmann/json.hpp>
#include <iostream>
#include <string>
using nlohmann::json;
struct Item { std::string name; int count; double price; };
static Item read_item(const json& j) {
    Item it;
    it.name = j.at("name").get<std::string>();
    it.count = j.value("count", 1);
    it.price = j.at("price").get<double>();
    return it;
}
static double total(const json& list) {
    double sum = 0;
    int n = 0;
    for (const auto& e : list) {
        Item it = read_item(e);
        sum += it.count * it.price;
        n += it.count;
        if (n > 100) break;
    }
    return sum;
}
int main() {
    const char* text = R"({"items":[{"name":"bolt","count":12,"price":0.5},{"name":"nut","price":0.25},{"name":"gear","count":3,"price":9.75}],"tag":"a\u00e9b"})";
    json doc = json::parse(text);
    double t = total(doc["items"]);
    std::cout << t << "\n";
    doc["total"] = t;
    doc["items"].push_back({{"name", "cam"}, {"count", 2}, {"price", 1.5}});
    int longest = 0;
    for (auto& [key, value] : doc.items()) {
        int len = static_cast<int>(key.size());
        if (len > longest) longest = len;
        std::cout << key << " " << value.dump() << "\n";
    }
    try {
        int bad = doc.at("missing").get<int>();
        std::cout << bad;
    } catch (const json::exception& e) {
        std::cout << "error " << e.id << "\n";
    }
    return longest & 1;
}
