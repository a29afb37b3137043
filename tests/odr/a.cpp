#include "both.hpp"

int main() { return across(penstock::result<int>{7}) == 7 ? 0 : 1; }
