// Precompiled for the unit tests: parsing Boost.Test takes longer than parsing most of what they test.
#include <boost/test/unit_test.hpp>
