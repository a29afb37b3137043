# cmake -C .ci/asan.cmake: clang++ with the address and undefined-behaviour sanitizers; lines in traces, fewer rounds.
set(CMAKE_CXX_COMPILER clang++-14 CACHE STRING "")
set(CMAKE_CXX_FLAGS "-O1 -gline-tables-only" CACHE STRING "")
set(PENSTOCK_HTTP ON CACHE STRING "")
set(PENSTOCK_CUDA OFF CACHE STRING "")
set(PENSTOCK_SANITIZE "address,undefined" CACHE STRING "")
set(PENSTOCK_SEPARATE ON CACHE BOOL "")
set(PENSTOCK_STRESS "1 300" CACHE STRING "")
set(PENSTOCK_FUZZ ON CACHE BOOL "")
