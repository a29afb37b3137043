// A small engine that loads its model with Penstock: what an engine has to write is in this file.
//
//   generate URI --tp N --prompt TEXT --tokens N [--memory-limit SIZE] [--ids]
//
// The rest of the folder knows nothing of Penstock: tokenizer.hpp is text to ids and back, llama.hpp the mathematics.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <penstock/arch/llama.hpp>
#include <penstock/pipeline/pipeline.hpp>
#include <penstock/quant/none.hpp>
#include <penstock/storage/any.hpp>

#include "llama.hpp"
#include "ranks.hpp"
#include "tokenizer.hpp"

namespace {
using generate::bf16;
using generate::token_id;

/// What this engine is: weights from anywhere, written where it says, plain bf16, models of Llama's shape.
struct engine_policies : penstock::defaults {
  using storage = penstock::storage::any;
  using ownership = penstock::ownership::place;
  using quant = penstock::quant::none;
  using arch = penstock::arch::llama;
};
using loader = penstock::pipeline<engine_policies>;

/// The parameters of one rank, in the engine's own memory. The plan says which there are; as the sink of a load it
/// answers where each is to be written.
class rank_memory {
 public:
  explicit rank_memory(loader::plan_type const& plan) {
    for (auto const& p : plan.parameters) {
      if (p.type != penstock::dtype::bf16)
        throw std::runtime_error{p.name + " is " + std::string{name_of(p.type)} +
                                 ", and this engine computes with BF16"};
      values_.try_emplace(p.name, p.size.count / sizeof(bf16));
    }
  }

  penstock::placement destination(penstock::parameter const& p) {
    return {.at = reinterpret_cast<std::byte*>(values_.at(p.name).data())};
  }

  /// The values of a parameter; nothing where there is none of that name.
  [[nodiscard]] std::span<bf16 const> find(std::string const& name) const {
    auto const found = values_.find(name);
    return found == values_.end() ? std::span<bf16 const>{} : std::span<bf16 const>{found->second};
  }

 private:
  std::map<std::string, std::vector<bf16>> values_;
};

struct options {
  std::string uri, prompt;
  std::uint32_t tp = 1;
  std::size_t tokens = 24;
  std::uint64_t memory_limit = 512 << 20;  // bytes, for all ranks together
  bool ids = false;
};

/// Streams each rank's share of the model into memory of its own.
std::vector<rank_memory> load(loader& penstock, loader::model_type const& model, options const& o) {
  std::vector<loader::plan_type> plans;
  std::vector<rank_memory> memory;
  for (std::uint32_t rank = 0; rank < o.tp; ++rank) {
    plans.push_back(penstock
                        .plan(model, penstock::topology{.tp = o.tp, .rank = rank},
                              {.memory_limit = penstock::bytes{o.memory_limit / o.tp}})
                        .value());
    memory.emplace_back(plans.back());
  }
  std::vector<penstock::report> reports(o.tp);
  generate::on_ranks(o.tp, [&](std::size_t rank, std::stop_token stop) {
    penstock::load_options how;
    how.stop = std::move(stop);
    how.rank = static_cast<std::uint32_t>(rank);
    reports[rank] = penstock.load(plans[rank], memory[rank], how).value();
  });

  double seconds = 0;
  std::uint64_t read = 0, peak = 0;
  for (auto const& r : reports) {
    seconds = std::max(seconds, r.seconds);
    read += r.bytes_read.count;
    peak += r.peak_host_bytes.count;
  }
  std::fprintf(stderr, "loaded %zu parameters into %u %s: %.1f MB read in %.2f s through at most %.1f MiB\n",
               plans[0].parameters.size(), o.tp, o.tp == 1 ? "rank" : "ranks", static_cast<double>(read) / 1e6, seconds,
               static_cast<double>(peak) / (1 << 20));
  return memory;
}

/// The most likely continuation of `prompt`, until the model ends it or it is `tokens` long.
std::vector<token_id> continue_text(std::vector<rank_memory> const& memory, generate::llama_config const& config,
                                    std::span<token_id const> prompt, std::size_t tokens) {
  auto const ranks = memory.size();
  generate::rank_group group{ranks, config.hidden};
  std::vector<generate::llama_rank> rank;
  for (std::size_t r = 0; r < ranks; ++r)
    rank.emplace_back(config,
                      generate::find_weights(config, ranks, [&](auto const& name) { return memory[r].find(name); }),
                      group, r, prompt.size() + tokens);

  std::vector<token_id> made;
  made.reserve(tokens);
  generate::on_ranks(ranks, [&](std::size_t r, std::stop_token) {
    for (auto const token : prompt) rank[r].take(token);
    for (std::size_t i = 0; i < tokens; ++i) {
      auto const next = rank[r].best_next();  // the same on all ranks
      if (std::find(config.end_of_text.begin(), config.end_of_text.end(), next) != config.end_of_text.end()) return;
      if (r == 0) made.push_back(next);
      if (i + 1 < tokens) rank[r].take(next);
    }
  });
  return made;
}

std::string as_list(std::span<token_id const> ids) {
  std::string text;
  for (auto const id : ids) text += (text.empty() ? "" : ", ") + std::to_string(id);
  return "[" + text + "]";
}

void run(options const& o) {
  loader penstock;
  auto const model = penstock.open(o.uri).value();

  // A URI is no folder: config and tokenizer are read from the model's snapshot, which is one.
  auto const& folder = model.snapshot.directory();
  auto const config = generate::read_llama_config(folder);
  generate::tokenizer const tokenizer{folder / "tokenizer.json"};
  auto prompt = tokenizer.encode(o.prompt);
  if (prompt.empty() && config.begin_of_text) prompt.push_back(*config.begin_of_text);
  if (prompt.empty())
    throw penstock::error{penstock::error_kind::usage,
                          "expected a --prompt, found an empty one: this model needs a token"};
  if (prompt.size() + o.tokens > config.positions)
    throw penstock::error{penstock::error_kind::usage, "expected at most " + std::to_string(config.positions) +
                                                           " tokens in all, found " + std::to_string(prompt.size()) +
                                                           " of the prompt and --tokens " + std::to_string(o.tokens)};

  auto const memory = load(penstock, model, o);
  auto const made = continue_text(memory, config, prompt, o.tokens);
  if (o.ids) std::printf("{\"prompt_ids\": %s, \"ids\": %s}\n", as_list(prompt).c_str(), as_list(made).c_str());
  else std::printf("%s%s\n", o.prompt.c_str(), tokenizer.decode(made).c_str());
}

/// The program's exit status for an error: one for each kind, 2 for usage and 10 to 20 for the others.
int status_of(penstock::error_kind kind) {
  return kind == penstock::error_kind::usage ? 2 : 9 + static_cast<int>(kind);
}
}  // namespace

int main(int argc, char** argv) {
  options o;
  CLI::App app{"Loads a model of Llama's shape and continues a text with it."};
  app.add_option("URI", o.uri, "the model: a folder, or az://container/path")->required();
  app.add_option("--prompt", o.prompt, "the text to continue")->required();
  app.add_option("--tp", o.tp, "ranks that share each layer")->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--tokens", o.tokens, "tokens to add at most")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  app.add_option("--memory-limit", o.memory_limit, "what loading may use beside the parameters, such as 64MiB")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("512MiB");
  app.add_flag("--ids", o.ids, "print the ids of prompt and continuation, as JSON, in place of the text");
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& e) { return app.exit(e) == 0 ? 0 : status_of(penstock::error_kind::usage); }
  try {
    run(o);
    return 0;
  } catch (penstock::error const& e) {
    std::fprintf(stderr, "generate: %s: %s\n", std::string{name_of(e.kind())}.c_str(), e.what());
    return status_of(e.kind());
  } catch (std::exception const& e) {  // of this engine's: a file beside the weights that it cannot use
    std::fprintf(stderr, "generate: %s\n", e.what());
    return status_of(penstock::error_kind::config);
  }
}
