#pragma once

// Where a test of interleavings lets something else happen inside a step. Empty everywhere else.
#ifndef PENSTOCK_POINT
#  define PENSTOCK_POINT() ((void)0)
#endif
