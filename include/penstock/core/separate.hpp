#pragma once

// Bodies in .ipp files are inline functions, or compiled once where the engine says PENSTOCK_SEPARATE_COMPILATION.
#if defined(PENSTOCK_SEPARATE_COMPILATION)
#  define PENSTOCK_INLINE
#else
#  define PENSTOCK_INLINE inline
#endif
