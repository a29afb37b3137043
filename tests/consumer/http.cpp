#include <penstock/penstock.hpp>

int main() { return penstock::result<int>{21}.value() == 21 ? 0 : 1; }
