# cmake -C .ci/gcc.cmake: g++, checked, with every test; optimised a little, so that compiling and running take as long.
set(CMAKE_CXX_COMPILER g++ CACHE STRING "")
set(CMAKE_CXX_FLAGS "-O1" CACHE STRING "")
set(PENSTOCK_HTTP ON CACHE STRING "")
set(PENSTOCK_CUDA ON CACHE STRING "")
set(PENSTOCK_ALL_COMPILERS ON CACHE BOOL "")
set(PENSTOCK_SEPARATE ON CACHE BOOL "")
set(PENSTOCK_BENCHMARKS ON CACHE BOOL "") # so that they go on compiling
