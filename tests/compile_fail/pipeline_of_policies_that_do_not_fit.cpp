// error: these policies do not make a pipeline
// guard: pipeline_fits
#include <penstock/arch/llama.hpp>
#include <penstock/pipeline/pipeline.hpp>
#include <penstock/storage/local.hpp>

using namespace penstock;

struct my_policies : defaults {
  using storage = storage::local;
#ifdef COMPILE_FAIL
  using ownership = host_memory;
#else
  using ownership = ownership::own<host_memory>;
#endif
  using quant = quant::none;
  using arch = arch::llama;
};
static_assert(sizeof(pipeline<my_policies>) > 0);
