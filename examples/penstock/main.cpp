// The library as a command: look into a checkpoint, plan a load, run it, fetch the files beside the weights, make a
// checkpoint of hashes.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <penstock/plan/nearest.hpp>

#include "program.hpp"
#include "synth_presets.hpp"

using namespace penstock;

void print_notice(std::string_view text) {
  std::fprintf(stderr, "penstock: note: %.*s\n", static_cast<int>(text.size()), text.data());
}

namespace {
/// Exit status of each kind of error; 0 is success.
int exit_status(error_kind k) { return k == error_kind::usage ? 2 : 9 + static_cast<int>(k); }
static_assert(static_cast<int>(error_kind::format) == 1 && static_cast<int>(error_kind::cancelled) == 11);

/// One line without control characters: names in it may come from a checkpoint.
std::string printable(std::string const& text) {
  std::string s;
  for (char const c : text) {
    auto const byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) s += c;
    else s += std::string{"\\x"} + "0123456789abcdef"[byte >> 4] + "0123456789abcdef"[byte & 15];
  }
  return s;
}

int report_error(error const& e) {
  auto const& where = e.where();
  std::string text = "penstock: error: " + std::string{name_of(e.kind())} + ": " + e.message();
  if (where.rank >= 0) text += " (rank " + std::to_string(where.rank) + ")";
  std::fprintf(stderr, "%s\n", printable(text).c_str());
  return exit_status(e.kind());
}

void add_uri(CLI::App& c, arguments& a) {
  c.add_option(
       "URI", a.uri,
       "az://container/path, abfs://, https://account.blob.core.windows.net/..., a folder, or one .safetensors file")
      ->required();
}
void add_plan_options(CLI::App& c, arguments& a) {
  c.add_option(
      "--arch", a.arch,
      "weight map: as_stored, bert, deepseek_v2, deepseek_v3, deepseek_v3_mtp (draft), gemma2, gemma3, glm4_moe, "
      "gpt_oss, kimi_k25, llama, mistral, mixtral, qwen2, qwen3, qwen3_moe, qwen_vl (default: by config.json)");
  c.add_option("--draft", a.draft, "another weight map, of the draft model in the same files: deepseek_v3_mtp");
  c.add_option("--quant", a.quant,
               "quant scheme: none, fp8_block, mxfp4, wna16, wna16_channel (default: by config.json)");
  c.add_option("--tp", a.tp, "tensor-parallel ranks")->capture_default_str();
  c.add_option("--ep", a.ep, "blocks of experts")->capture_default_str();
  c.add_option("--pp", a.pp, "pipeline stages")->capture_default_str();
  c.add_option("--rank-files", a.rank_files,
               "the files of a checkpoint that was saved rank by rank, e.g. model-rank-{rank}-part-{part}.safetensors; "
               "each rank takes its own as stored (--arch as_stored)");
  c.add_option("--stages", a.stages, "layers of each pipeline stage, e.g. 10,11,9 (default: as equal as can be)");
  c.add_option("--group", a.groups,
               "ranks that share what a group has, e.g. vision=1 or attention=2, where they are not tp: attention, "
               "dense, experts, vocab, vision; a rank's place is its tp rank modulo this");
  c.add_option("--experts", a.experts_file,
               "a JSON file with the experts in the slots of each of the ep blocks, by layer or for \"all\": "
               "{\"all\": [[0, 1, 2], [3, 0]]} (default: each once, in equal blocks)");
  c.add_option("--rank", a.rank,
               "one rank, or all as threads of this process (default: all, or what mpirun, srun or torchrun say)");
  c.add_option("--device", a.device, "where parameters live: host")->capture_default_str();
  c.add_option("--ownership", a.ownership, "what the sink receives: place, own, borrow")->capture_default_str();
  c.add_option("--exchange", a.exchange, "how ranks share reading: independent")->capture_default_str();
  c.add_option("--memory-limit", a.memory_limit,
               "slots, transport buffers and kept tensors of all ranks here, e.g. 64MiB")
      ->capture_default_str();
  c.add_option("--slot", a.slot, "bytes of one slot, e.g. 4MiB (default: chosen to fit)");
  c.add_option("--json", a.json, "write the report as JSON to this file; - is standard output");
}
void add_synth_options(CLI::App& c, arguments& a) {
  std::string models;
  for (auto const& p : presets()) models += ", " + std::string{p.name} + " (" + std::string{p.title} + ")";
  c.add_option("MODEL", a.model, "llama (the smallest)" + models)->required();
  c.add_option("DIR", a.directory, "the folder; made if it is not there, else empty")->required();
  c.add_option("--layers", a.layers, "so many layers; one at least stays a mixture of experts if two are asked for");
  c.add_option("--experts", a.experts, "so many experts to choose from in a layer");
  c.add_option("--scale", a.scale,
               "widths times this, above 0 and at most 1. Where the real ones are, hidden and low-rank sizes stay "
               "multiples of 128, MLP and expert widths of 1024, the vocabulary of 512; heads become a divisor of the "
               "real number that eight ranks can share. The sizes of a head stay")
      ->capture_default_str();
  c.add_option("--shards", a.shards, "so many files (default: one for each 4 GiB)");
  c.add_option("--seed", a.seed, "all values follow from it, from the tensor's name and from the place in the tensor")
      ->check(CLI::Validator(
          [](std::string const& text) -> std::string {
            u64 n = 0;
            auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
            if (failed == std::errc{} && end == text.data() + text.size()) return {};
            return "expected a number from 0 to 18446744073709551615, found \"" + text + "\"";
          },
          "", "seed"))
      ->capture_default_str();
  c.add_option("--quant", a.quant, "quantisation: none, fp8_block, mxfp4, wna16 (default: the model's own)");
  c.add_flag("--sparse", a.sparse, "holes for data: no room on disk, and every value is zero");
  c.add_flag("--shuffle", a.shuffle, "what belongs together lies far apart, in different files");
}
/// What is wrong with a command line, with the known name that is nearest to an unknown one.
std::string misunderstood(CLI::App const& app, int argc, char** argv, CLI::ParseError const& e) {
  auto const nearest = [](std::string const& to, std::vector<std::string> const& known) {
    return *std::min_element(known.begin(), known.end(), [&](auto const& a, auto const& b) {
      return penstock::detail::edit_distance(to, a) < penstock::detail::edit_distance(to, b);
    });
  };
  std::vector<std::string> known;
  auto const chosen = app.get_subcommands();
  if (chosen.empty() && argc > 1 && argv[1][0] != '-') {
    for (auto const* c : app.get_subcommands([](auto const*) { return true; })) known.push_back(c->get_name());
    return "expected a command, found \"" + std::string{argv[1]} + "\"; is " + nearest(argv[1], known) +
           " meant? Run with --help for all of them";
  }
  auto const rest = app.remaining(true);
  auto const unknown = std::find_if(rest.begin(), rest.end(), [](auto const& r) { return r.starts_with("--"); });
  if (!chosen.empty() && unknown != rest.end()) {
    auto const name = unknown->substr(0, unknown->find('='));
    for (auto const* o : chosen.front()->get_options())
      for (auto const& l : o->get_lnames()) known.push_back("--" + l);
    return "unknown option " + name + " of " + chosen.front()->get_name() + "; is " + nearest(name, known) +
           " meant? Run with --help for all of them";
  }
  return std::string{e.what()} + "; run with --help for the options";
}
}  // namespace

int main(int argc, char** argv) {
  arguments a;
  CLI::App app{"penstock: model weights from storage into parameters"};
  app.set_version_flag("--version", std::to_string(PENSTOCK_VERSION_MAJOR) + "." +
                                        std::to_string(PENSTOCK_VERSION_MINOR) + "." +
                                        std::to_string(PENSTOCK_VERSION_PATCH));
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0, or by the kind of error: usage 2, format 10, config 11, plan 12, not_found 13, access 14,\n"
      "transient 15, changed 16, memory 17, io 18, peer 19, cancelled 20.");

  auto& look = *app.add_subcommand("inspect", "architecture, quantisation, tensors, shards, bytes");
  add_uri(look, a);
  look.add_option("--json", a.json, "write it as JSON to this file; - is standard output");

  auto& plan_it = *app.add_subcommand("plan", "what each rank would read, keep and exchange; reads no tensor bytes");
  add_uri(plan_it, a);
  add_plan_options(plan_it, a);
  plan_it.add_option("--reads", a.reads, "write the plan itself to this file, one read a line");

  auto& load_it = *app.add_subcommand("load", "load, report, digests of each parameter");
  add_uri(load_it, a);
  add_plan_options(load_it, a);
  load_it.add_option("--digest", a.digest,
                     "write the SHA-256 of each rank's parameters to this file, one JSON object a line");
  load_it.add_option("--digest-after", a.digest_after,
                     "the same with what is made after landing: derived parameters as well");
  load_it.add_option("--dump", a.dump, "write each parameter's bytes into this folder: DIR/rank0/NAME");
  load_it.add_option("--trace", a.trace,
                     "write what each lane and slot did and when to this file, for Perfetto or chrome://tracing");
  load_it.add_flag(
      "--check", a.check,
      "first read and compare what is stored twice or only described: a tied head, sizes of packed weights");
  load_it.add_flag("--progress", a.progress, "show progress on standard error");

  auto& fetch_it = *app.add_subcommand("fetch", "config, tokenizer and processor files into a folder");
  add_uri(fetch_it, a);
  fetch_it.add_option("DIR", a.directory, "the folder; made if it is not there")->required();

  auto& synth_it = *app.add_subcommand("synth", "a synthetic checkpoint with a real model's names, shapes and dtypes");
  add_synth_options(synth_it, a);

  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help and --version
    return report_error(error{error_kind::usage, misunderstood(app, argc, argv, e)});
  }
  result<void> done;
  try {
    done = look.parsed()       ? inspect(a)
           : plan_it.parsed()  ? show_plan(a)
           : load_it.parsed()  ? load(a)
           : synth_it.parsed() ? synth(a)
                               : fetch(a);
  } catch (std::bad_alloc const&) {
    done = error{error_kind::memory, "expected more memory, found none; lower --memory-limit or load fewer ranks"};
  }
  if (done && (std::fflush(stdout) || std::ferror(stdout)))
    done = error{error_kind::io, "cannot write to standard output; choose another place for it"};
  return done ? 0 : report_error(done.error());
}
