#include <penstock/format/config.hpp>

#include "st.hpp"

#include <random>

using namespace penstock;
using namespace fixture;

namespace {
result<model_config> parse(std::string_view json) { return model_config::parse(bytes_of(json)); }
/// A config that must be good.
model_config good(std::string_view json) {
  auto c = parse(json);
  BOOST_TEST_REQUIRE(c.has_value(), (c ? "" : c.error().message()));
  return *std::move(c);
}
template <class Config> concept gives_text = requires(Config&& c) { static_cast<Config&&>(c).text("key"); };
using texts = std::vector<std::string>;
using numbers = std::vector<u64>;
}  // namespace

BOOST_AUTO_TEST_SUITE(format_config)

BOOST_AUTO_TEST_CASE(numbers_are_non_negative_integers_or_booleans) {
  auto const c = good(R"({"a":7,"t":true,"f":false,"n":-1,"r":2.0,"e":1e3,"s":"7","l":[7],"o":{},"z":null,
                          "big":18446744073709551615})");
  BOOST_TEST((c.number("a") == 7u));
  BOOST_TEST((c.number("t") == 1u));
  BOOST_TEST((c.number("f") == 0u));
  BOOST_TEST((c.number("big") == ~u64{}));
  for (auto const* key : {"n", "r", "e", "s", "l", "o", "z", "absent", "", "a.b"}) BOOST_TEST(!c.number(key), key);
}

BOOST_AUTO_TEST_CASE(a_required_number_says_what_was_found_instead) {
  auto const c = good(R"({"a":7,"n":-1,"s":"x\u001b","z":null,"o":{}})");
  BOOST_TEST((*c.required("a") == 7u));
  BOOST_TEST(bad_config(c.required("n"), {"config.json", " n,", "-1"}));
  BOOST_TEST(bad_config(c.required("s"), {R"("x\u001b")"}));
  BOOST_TEST(bad_config(c.required("z"), {" z,", "no such key"}));
  BOOST_TEST(bad_config(c.required("o"), {"an object"}));
  BOOST_TEST(bad_config(model_config{}.required("hidden_size"), {"hidden_size", "no config"}));
}

BOOST_AUTO_TEST_CASE(other_kinds_of_values_have_their_own_question) {
  auto const c = good(R"({"eps":1e-5,"n":-2,"u":3,"name":"x","names":["a","b"],"mixed":["a",1],"ids":[1,2],"id":5,
                          "bad":[1,-2],"none":[]})");
  BOOST_TEST((c.real("eps") == 1e-5));
  BOOST_TEST((c.real("n") == -2.0));
  BOOST_TEST((c.real("u") == 3.0));
  BOOST_TEST(!c.real("name"));
  BOOST_TEST((c.text("name") == "x"));
  BOOST_TEST(!c.text("u"));
  BOOST_TEST((c.texts("name") == texts{"x"}));
  BOOST_TEST((c.texts("names") == texts{"a", "b"}));
  BOOST_TEST(c.texts("mixed").empty());
  BOOST_TEST((c.numbers("ids") == numbers{1, 2}));
  BOOST_TEST((c.numbers("id") == numbers{5}));
  BOOST_TEST(c.numbers("bad").empty());
  BOOST_TEST(c.numbers("none").empty());
}

BOOST_AUTO_TEST_CASE(dotted_keys_reach_into_nested_objects) {
  auto const c = good(R"({"vision_config":{"patch_size":14,"a":{"b":{"c":1}},"z":null},"x.y":2,"x":{"y":3,"z":4}})");
  BOOST_TEST((c.number("vision_config.patch_size") == 14u));
  BOOST_TEST((c.number("vision_config.a.b.c") == 1u));
  BOOST_TEST((c.number("x.y") == 2u));  // a key that has the dot itself
  BOOST_TEST((c.number("x.z") == 4u));
  for (auto const* key : {"patch_size", "vision_config.", ".patch_size", "vision_config.z", "vision_config.a"})
    BOOST_TEST(!c.number(key), key);
}

BOOST_AUTO_TEST_CASE(a_nested_text_config_answers_for_what_the_top_lacks) {
  for (std::string const key : {"text_config", "language_config", "llm_config"}) {
    auto const c = good(R"({"vocab_size":10,"q_lora_rank":null,"vision_config":{"hidden_size":9},")" + key +
                        R"(":{"hidden_size":4,"vocab_size":11,"q_lora_rank":3,"model_type":"kimi_k2"}})");
    BOOST_TEST(c.text_config() == key);
    BOOST_TEST((c.number("hidden_size") == 4u));
    BOOST_TEST((c.number("vocab_size") == 10u));
    BOOST_TEST((c.number("q_lora_rank") == 3u));
    BOOST_TEST((c.number(key + ".vocab_size") == 11u));
    BOOST_TEST(c.model_type() == "kimi_k2");
  }
  auto const both = good(R"({"llm_config":{"hidden_size":2},"text_config":{"hidden_size":1}})");
  BOOST_TEST((both.number("hidden_size") == 1u));
  auto const odd = good(R"({"text_config":"x"})");
  BOOST_TEST(odd.text_config() == "");
}

BOOST_AUTO_TEST_CASE(the_spellings_of_transformers_5_answer_for_the_older_ones) {
  auto const c = good(R"({"dtype":"bfloat16","rope_parameters":{"rope_theta":5e4}})");
  BOOST_TEST((c.text("torch_dtype") == "bfloat16"));
  BOOST_TEST((c.real("rope_theta") == 5e4));
  auto const older = good(R"({"torch_dtype":"float16"})");
  BOOST_TEST((older.text("dtype") == "float16"));
  auto const old = good(R"({"rope_theta":7,"text_config":{"rope_parameters":{"rope_theta":8},"dtype":"x"}})");
  BOOST_TEST((old.real("rope_theta") == 7.0));
  BOOST_TEST((old.text("torch_dtype") == "x"));
  BOOST_TEST((good(R"({"num_local_experts":8})").number("num_experts") == 8u));
  BOOST_TEST((good(R"({"num_experts":4})").number("num_local_experts") == 4u));
}

BOOST_AUTO_TEST_CASE(what_public_files_leave_out_has_a_default) {
  auto const c = good(R"({"hidden_size":64,"num_attention_heads":4,"num_key_value_heads":null})");
  BOOST_TEST((c.number("num_key_value_heads") == 4u));
  BOOST_TEST((c.number("head_dim") == 16u));
  BOOST_TEST((c.number("tie_word_embeddings") == 0u));
  BOOST_TEST((c.number("attention_bias") == 0u));
  BOOST_TEST((c.number("mlp_bias") == 0u));
  BOOST_TEST((*c.required("head_dim") == 16u));
  auto const said = good(R"({"hidden_size":64,"num_attention_heads":4,"num_key_value_heads":2,"head_dim":32,
                             "tie_word_embeddings":true,"attention_bias":true})");
  BOOST_TEST((said.number("num_key_value_heads") == 2u));
  BOOST_TEST((said.number("head_dim") == 32u));
  BOOST_TEST((said.number("tie_word_embeddings") == 1u));
  BOOST_TEST((said.number("attention_bias") == 1u));
  auto const nested = good(R"({"text_config":{"hidden_size":64,"num_attention_heads":8}})");
  BOOST_TEST((nested.number("head_dim") == 8u));
  BOOST_TEST(!good(R"({"a":1})").number("num_key_value_heads"));
}

// Case H12, the flag.
BOOST_AUTO_TEST_CASE(tied_embeddings_are_found_at_both_places_and_are_the_default_of_gemma) {
  BOOST_TEST(
      (good(R"({"tie_word_embeddings":true,"vocab_size":6,"hidden_size":2})").number("tie_word_embeddings") == 1u));
  BOOST_TEST((good(R"({"text_config":{"tie_word_embeddings":true}})").number("tie_word_embeddings") == 1u));
  BOOST_TEST((good(R"({"model_type":"gemma2"})").number("tie_word_embeddings") == 1u));
  BOOST_TEST(
      (good(R"({"model_type":"paligemma","text_config":{"model_type":"gemma"}})").number("tie_word_embeddings") == 1u));
  BOOST_TEST((good(R"({"model_type":"gemma2","tie_word_embeddings":false})").number("tie_word_embeddings") == 0u));
  BOOST_TEST((good(R"({"model_type":"llama"})").number("tie_word_embeddings") == 0u));
}

BOOST_AUTO_TEST_CASE(a_head_that_cannot_be_computed_is_an_error) {
  BOOST_TEST(bad_config(parse(R"({"hidden_size":10,"num_attention_heads":4})"), {"head_dim", "10 and 4"}));
  BOOST_TEST(bad_config(parse(R"({"hidden_size":10,"num_attention_heads":0})"), {"head_dim", "10 and 0"}));
  BOOST_TEST(bad_config(parse(R"({"text_config":{"hidden_size":10,"num_attention_heads":4}})"), {"head_dim"}));
  BOOST_TEST(parse(R"({"hidden_size":10,"num_attention_heads":4,"head_dim":3})").has_value());
  auto const mla = good(R"({"hidden_size":10,"num_attention_heads":4,"kv_lora_rank":2,"qk_nope_head_dim":3})");
  BOOST_TEST(!mla.number("head_dim"));
}

BOOST_AUTO_TEST_CASE(sizes_are_hostile) {
  for (std::string const size : {"\"64\"", "-1", "1e30", "64.0", "true", "{}", "4294967296", "[1,-1]", "[1.5]"}) {
    BOOST_TEST(bad_config(parse(R"({"hidden_size":)" + size + "}"), {"config.json", "hidden_size", "4294967295"}));
    BOOST_TEST(bad_config(parse(R"({"text_config":{"hidden_size":)" + size + "}}"), {"text_config.hidden_size"}));
  }
  BOOST_TEST(bad_config(parse(R"({"num_hidden_layers":100001})"), {"num_hidden_layers", "100000", "100001"}));
  BOOST_TEST(parse(R"({"hidden_size":4294967295,"num_hidden_layers":null})").has_value());
  BOOST_TEST((good(R"({"intermediate_size":[8,16]})").numbers("intermediate_size") == numbers{8, 16}));
}

BOOST_AUTO_TEST_CASE(what_is_no_json_object_is_refused) {
  for (std::string const text :
       {"", "[]", "3", "null", "{", "{}x", "{\"a\":}", "{\"a\":NaN}", "{\"a\":01}", "\xef\xbb\xbf{}"})
    BOOST_TEST(bad_config(parse(text), {"config.json", "JSON object"}));
  BOOST_TEST(bad_config(parse("{\"a\":" + std::string(5'000'000, '[')), {"config.json"}));
  BOOST_TEST(bad_config(parse("{\"a\":" + std::string(1100, '[') + std::string(1100, ']') + "}"), {"1024 levels"}));
  BOOST_TEST(bad_config(parse(R"({"a":340282366920938463463374607431768211456})"), {"64 bits"}));
}

BOOST_AUTO_TEST_CASE(a_key_stands_once_in_its_object) {
  BOOST_TEST(bad_config(parse(R"({"hidden_size":1,"hidden_size":2})"), {"\"hidden_size\"", "duplicate"}));
  BOOST_TEST(bad_config(parse(R"({"a":[{"b":1,"b":1}]})"), {"\"b\"", "duplicate"}));
  BOOST_TEST(parse(R"({"a":{"b":1},"c":{"b":1}})").has_value());
}

BOOST_AUTO_TEST_CASE(a_config_has_a_limit_of_bytes_and_values) {
  auto const padded = "{}" + std::string(model_config::most.count - 2, ' ');
  BOOST_TEST(parse(padded).has_value());
  BOOST_TEST(bad_config(parse(padded + " "), {"16777216", "16777217"}));
  std::string list = R"({"a":[0)";
  for (u32 i = 0; i < detail::json_tree::most; ++i) list += ",0";
  BOOST_TEST(bad_config(parse(list + "]}"), {"1000000 values"}));
}

BOOST_AUTO_TEST_CASE(it_says_what_made_the_checkpoint) {
  auto const c = good(R"({"architectures":["LlamaForCausalLM","Other"],"model_type":"llama"})");
  BOOST_TEST(c.architecture() == "LlamaForCausalLM");
  BOOST_TEST(c.model_type() == "llama");
  for (std::string const json :
       {R"({"architectures":null})", R"({"architectures":[]})", R"({"architectures":"X"})", "{}"}) {
    auto const none = good(json);
    BOOST_TEST(none.architecture() == "");
    BOOST_TEST(none.model_type() == "");
  }
}

BOOST_AUTO_TEST_CASE(no_config_answers_nothing) {
  model_config const none;
  BOOST_TEST(none.empty());
  BOOST_TEST(good("{}").empty());
  for (auto const* key : {"hidden_size", "tie_word_embeddings", "head_dim"}) BOOST_TEST(!none.number(key));
  BOOST_TEST(none.architecture() == "");
  BOOST_TEST(!none.quantization());
  BOOST_TEST(none.entries().empty());
  BOOST_TEST(!good(R"({"a":1})").empty());
}

BOOST_AUTO_TEST_CASE(a_config_can_be_made_of_numbers) {
  auto const c = model_config::of({{"hidden_size", 64}, {"num_attention_heads", 4}, {"vision_config.patch_size", 14}});
  BOOST_TEST(!c.empty());
  BOOST_TEST((c.number("hidden_size") == 64u));
  BOOST_TEST((c.number("vision_config.patch_size") == 14u));
  BOOST_TEST((c.number("head_dim") == 16u));
  BOOST_TEST(model_config::of({}).empty());
  BOOST_TEST(model_config::of({{"hidden_size", 64}}).fingerprint() == good(R"({"hidden_size":64})").fingerprint());
}

BOOST_AUTO_TEST_CASE(the_fingerprint_is_of_the_content) {
  auto const a = good(R"({"x":1,"y":{"p":"q","r":[1,2]},"t":true})");
  BOOST_TEST(a.fingerprint() == good(R"( {"t":true,"y":{"r":[1, 2],"p":"q"},"x":1,"z":null} )").fingerprint());
  BOOST_TEST(a.fingerprint() == 4372268888736387464u);  // the same on every host, in every build
  for (std::string const other :
       {R"({"x":2,"y":{"p":"q","r":[1,2]},"t":true})", R"({"x":1,"y":{"p":"q","r":[2,1]},"t":true})",
        R"({"x":1,"y":{"p":"Q","r":[1,2]},"t":true})", R"({"x":1,"y":{"p":"q","r":[1,2]},"t":1})",
        R"({"x":1,"p":"q","y":{"r":[1,2]},"t":true})", R"({"x":1,"y":{"p":"q","r":[1,2,null]},"t":true})",
        R"({"x":1.0,"y":{"p":"q","r":[1,2]},"t":true})"})
    BOOST_TEST(a.fingerprint() != good(other).fingerprint(), other);
  BOOST_TEST(model_config{}.fingerprint() != a.fingerprint());
}

BOOST_AUTO_TEST_CASE(every_value_can_be_listed) {
  auto const c = good(R"({"a":1,"b":{"c":"x","d":[1,"y",{"e":2}]},"f":null,"g":0.5,"h":-3,"i":false})");
  std::vector<std::pair<std::string, std::string>> const want{
      {"a", "1"},  {"b.c", "\"x\""}, {"b.d", "[1, \"y\", an object]"}, {"f", "null"}, {"g", "0.5"},
      {"h", "-3"}, {"i", "false"}};
  BOOST_TEST((c.entries() == want));
}

BOOST_AUTO_TEST_CASE(a_temporary_gives_no_text) {
  static_assert(gives_text<model_config&>);
  static_assert(!gives_text<model_config>);
  auto first = good(R"({"a":"text that is longer than a small string"})");
  auto const second = std::move(first);
  BOOST_TEST((second.text("a") == "text that is longer than a small string"));
}
// Whatever a config says: it is refused, or answers.
BOOST_AUTO_TEST_CASE(mutated_configs_are_refused_or_answer) {
  std::string const seed =
      R"({"architectures":["X"],"text_config":{"hidden_size":64,"num_attention_heads":4,"rope_parameters":{"rope_theta":1e4}},)"
      R"("quantization_config":{"quant_method":"fp8","weight_block_size":[128,128],"ignore":["a"],"bits":8},"eos_token_id":[1,2]})";
  constexpr std::string_view alphabet = "{}[]:,\"0123456789-+.eE\\ utrfalsn_\x00\xff";
  std::mt19937 random{21};
  auto const below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>{0, n - 1}(random); };
  unsigned accepted = 0, refused = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string text = seed;
    for (auto k = 1 + below(3); k > 0; --k) {
      auto const at = below(text.size());
      switch (below(3)) {
        case 0: text.erase(at, 1 + below(3)); break;
        case 1: text.insert(at, text.substr(below(text.size()), below(30))); break;
        default: text[at] = alphabet[below(alphabet.size())];
      }
    }
    auto const c = parse(text);
    if (!c) {
      BOOST_REQUIRE((c.error().kind() == error_kind::config));
      ++refused;
      continue;
    }
    ++accepted;
    for (auto const* key :
         {"hidden_size", "head_dim", "text_config.rope_parameters.rope_theta", "rope_theta", "eos_token_id"}) {
      static_cast<void>(c->required(key).has_value());
      BOOST_REQUIRE(c->numbers(key).size() < 100u && c->texts(key).size() < 100u);
    }
    BOOST_REQUIRE(c->entries().empty() == c->empty() && c->fingerprint() == parse(text).value().fingerprint());
  }
  BOOST_TEST(accepted > 100u);
  BOOST_TEST(refused > 1000u);
}
BOOST_AUTO_TEST_SUITE_END()
