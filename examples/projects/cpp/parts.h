#pragma once
#include <vector>
int order_of(int first, int second);
int total(const std::vector<int> &numbers);
