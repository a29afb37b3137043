#include "../../../examples/generate/llama.hpp"

#include <bit>
#include <boost/test/unit_test.hpp>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {
using generate::bf16;
using generate::token_id;

/// Two heads share one key and value head; 70 rows of vocabulary are padded to 128.
generate::llama_config config() {
  generate::llama_config c;
  c.hidden = 12;
  c.intermediate = 20;
  c.layers = 2;
  c.heads = 4;
  c.kv_heads = 2;
  c.head_dim = 6;
  c.vocab = 70;
  c.positions = 64;
  return c;
}

using matrix = std::vector<std::vector<bf16>>;  // rows

/// Random weights of the whole model, and the shares that ranks have of them.
class weights {
 public:
  explicit weights(generate::llama_config const& c) : c_{c} {
    add("model.embed_tokens", c.vocab, c.hidden);
    add("lm_head", c.vocab, c.hidden);
    add("model.norm", 1, c.hidden);
    for (std::size_t n = 0; n < c.layers; ++n) {
      auto const layer = "model.layers." + std::to_string(n) + ".";
      for (auto const* norm : {"input_layernorm", "post_attention_layernorm"}) add(layer + norm, 1, c.hidden);
      add(layer + "q", c.heads * c.head_dim, c.hidden);
      for (auto const* kv : {"k", "v"}) add(layer + kv, c.kv_heads * c.head_dim, c.hidden);
      add(layer + "self_attn.o_proj", c.hidden, c.heads * c.head_dim);
      for (auto const* part : {"gate", "up"}) add(layer + part, c.intermediate, c.hidden);
      add(layer + "mlp.down_proj", c.hidden, c.intermediate);
    }
  }

  [[nodiscard]] std::map<std::string, std::vector<bf16>> share(std::size_t ranks, std::size_t r) const {
    std::map<std::string, std::vector<bf16>> out;
    for (auto const* name : {"model.embed_tokens", "lm_head"}) {
      auto padded = whole_.at(name);
      padded.resize(128, std::vector<bf16>(c_.hidden));
      rows(padded, ranks, r, out[std::string{name} + ".weight"]);
    }
    out["model.norm.weight"] = whole_.at("model.norm")[0];
    for (std::size_t n = 0; n < c_.layers; ++n) {
      auto const layer = "model.layers." + std::to_string(n) + ".";
      for (std::string const norm : {"input_layernorm", "post_attention_layernorm"})
        out[layer + norm + ".weight"] = whole_.at(layer + norm)[0];
      for (auto const* part : {"q", "k", "v"})
        rows(whole_.at(layer + part), ranks, r, out[layer + "self_attn.qkv_proj.weight"]);
      for (auto const* part : {"gate", "up"})
        rows(whole_.at(layer + part), ranks, r, out[layer + "mlp.gate_up_proj.weight"]);
      for (std::string const name : {"self_attn.o_proj", "mlp.down_proj"})
        for (auto const& row : whole_.at(layer + name))
          rows({{row}}, 1, 0, out[layer + name + ".weight"], row.size() / ranks * r, row.size() / ranks);
    }
    return out;
  }

 private:
  void add(std::string const& name, std::size_t rows, std::size_t columns) {
    std::uniform_real_distribution<float> some{-1, 1};
    matrix m(rows, std::vector<bf16>(columns));
    for (auto& row : m)
      for (auto& v : row) v = static_cast<bf16>(std::bit_cast<std::uint32_t>(some(random_)) >> 16);
    whole_[name] = m;
  }
  static void rows(matrix const& m, std::size_t ranks, std::size_t r, std::vector<bf16>& out, std::size_t first = 0,
                   std::size_t columns = static_cast<std::size_t>(-1)) {
    auto const count = m.size() / ranks;
    for (std::size_t i = r * count; i < (r + 1) * count; ++i)
      for (std::size_t c = first; c < std::min(m[i].size(), first + std::min(columns, m[i].size())); ++c)
        out.push_back(m[i][c]);
  }

  generate::llama_config c_;
  std::map<std::string, matrix> whole_;
  std::mt19937 random_{5};
};

generate::find_parameter in(std::map<std::string, std::vector<bf16>> const& share) {
  return [&share](std::string const& name) {
    auto const found = share.find(name);
    return found == share.end() ? std::span<bf16 const>{} : std::span<bf16 const>{found->second};
  };
}

std::vector<token_id> text_of(std::size_t ranks, std::size_t tokens) {
  auto const c = config();
  weights const whole{c};
  generate::rank_group group{ranks, c.hidden};
  std::vector<std::vector<token_id>> text(ranks);
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      auto const share = whole.share(ranks, r);
      generate::llama_rank rank{c, generate::find_weights(c, ranks, in(share)), group, r, tokens + 2};
      for (token_id const t : {3u, 69u}) rank.take(t);
      for (std::size_t i = 0; i < tokens; ++i) {
        text[r].push_back(rank.best_next());
        rank.take(text[r].back());
      }
    });
  for (auto& t : threads) t.join();
  for (auto const& other : text) BOOST_TEST(other == text[0], boost::test_tools::per_element());
  return text[0];
}

void refused(std::map<std::string, std::vector<bf16>> const& share, std::size_t ranks, std::string const& words) {
  BOOST_CHECK_EXCEPTION(generate::find_weights(config(), ranks, in(share)), std::runtime_error,
                        [&](std::runtime_error const& e) {
                          BOOST_TEST_MESSAGE(e.what());
                          return std::string{e.what()}.find(words) != std::string::npos;
                        });
}
}  // namespace

BOOST_AUTO_TEST_SUITE(generate_llama)

BOOST_AUTO_TEST_CASE(two_ranks_say_what_one_says_and_all_ranks_say_the_same) {
  auto const alone = text_of(1, 12);
  BOOST_TEST(text_of(2, 12) == alone, boost::test_tools::per_element());
  for (auto const token : alone) BOOST_TEST(token < config().vocab);
}

BOOST_AUTO_TEST_CASE(a_missing_parameter_and_one_of_another_size_are_named) {
  auto share = weights{config()}.share(1, 0);
  share.erase("model.layers.1.mlp.down_proj.weight");
  refused(share, 1, "model.layers.1.mlp.down_proj.weight: expected 240 values, found 0");
  share = weights{config()}.share(1, 0);
  share["model.layers.0.self_attn.qkv_proj.bias"].resize(47);
  refused(share, 1, "model.layers.0.self_attn.qkv_proj.bias: expected 48 values, found 47");
}

BOOST_AUTO_TEST_CASE(ranks_that_do_not_divide_the_heads_are_refused) {
  refused({}, 3, "4 heads do not divide into 3 ranks");
}

BOOST_AUTO_TEST_SUITE_END()
