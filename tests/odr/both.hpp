#pragma once
#include "everything.hpp"

/// Defined in b.cpp, called from a.cpp: its name says whether the library in it was checked.
int across(penstock::result<int> const& r);
