// error: these policies do not make a pipeline
// guard: pipeline_fits
#include <penstock/arch/llama.hpp>
#include <penstock/pipeline/pipeline.hpp>
#include <penstock/storage/local.hpp>

using namespace penstock;


struct my_policies : defaults {
  using storage = storage::local;
  using ownership = ownership::place;
#ifdef COMPILE_FAIL
  // no quant
#else
  using quant = quant::none;
#endif
  using arch = arch::llama;
};
static_assert(sizeof(pipeline<my_policies>) > 0);
