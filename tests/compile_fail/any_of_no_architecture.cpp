// error: arch::any_of<> names no architecture
// guard: any_of_some_architectures
#include <penstock/arch/llama.hpp>
#include <penstock/plan/choose_map.hpp>

#ifdef COMPILE_FAIL
using arch = penstock::arch::any_of<>;
#else
using arch = penstock::arch::any_of<penstock::arch::llama>;
#endif
void f() { (void)penstock::maps_of<arch, penstock::quant::none>(); }
