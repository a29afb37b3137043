#include "both.hpp"

int across(penstock::result<int> const& r) { return r.value(); }
