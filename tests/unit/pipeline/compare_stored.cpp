#include <penstock/arch/llama.hpp>
#include <penstock/arch/weight_map.hpp>
#include <penstock/format/safetensors.hpp>
#include <penstock/pipeline/compare_stored.hpp>
#include <penstock/storage/memory.hpp>

#include <boost/test/unit_test.hpp>
#include <cstring>

using namespace penstock;

namespace {
/// Two to a byte, with a tensor that says the size.
struct packed {
  static constexpr std::string_view name = "packed";
  static constexpr auto linear = quant::linear_is(quant::payload(".packed", dtype::uint8, quant::out, quant::in / 2),
                                                  quant::note(".shape", dtype::any_float));
  static bool declared(quant_declaration const&) { return true; }
};
struct packed_layers {
  static constexpr std::string_view name = "packed_layers";
  static constexpr auto map = arch::rules(arch::each("layers.*", 0, arch::layers, arch::linear("up", arch::hidden, 8)));
};
constexpr auto packed_map = weight_map_of<packed_layers, packed>::view();
constexpr auto llama_map = weight_map_of<arch::llama>::view();

/// A file in memory without a header, and what lies in it.
struct one_file {
  storage::memory store{};
  checkpoint all{};
  std::string content{};

  one_file() { all.uri = "memory://m", all.shards.push_back({"w", bytes{}, "v"}); }
  void add(std::string name, dtype type, shape s, std::string const& data) {
    all.tensors.push_back({std::move(name), type, s, object_id{0}, {bytes{content.size()}, bytes{data.size()}}});
    content += data;
  }
  template <class T>
  void add_size(std::string name, dtype type, T n, T k) {
    std::string data(2 * sizeof(T), ' ');
    std::memcpy(data.data(), &n, sizeof(T)), std::memcpy(data.data() + sizeof(T), &k, sizeof(T));
    add(std::move(name), type, {2}, data);
  }
  result<comparison> compare(map_view const& map, model_config const& config, std::string_view quant = {}) {
    auto const again = find_stored_again(all, config, map, quant);
    if (!again) return again.error();
    store.add("m/w", content);
    std::string const name = "w";
    auto const objects = pin_objects(store, uri::parse("memory://m").value(), {&name, 1}, {}).value();
    return compare_stored(store, std::span{objects}, all, *again);
  }
};
bool says(result<comparison> const& r, std::initializer_list<std::string_view> words) {
  if (r || r.error().kind() != error_kind::config) return false;
  for (auto const word : words)
    if (r.error().message().find(word) == std::string::npos) return false;
  return true;
}
model_config tied() {
  return model_config::of({{"hidden_size", 1024},
                           {"num_hidden_layers", 1},
                           {"vocab_size", 1500},
                           {"num_attention_heads", 4},
                           {"num_key_value_heads", 4},
                           {"head_dim", 4},
                           {"intermediate_size", 8},
                           {"tie_word_embeddings", 1}});
}
}  // namespace

BOOST_AUTO_TEST_SUITE(pipeline_compare_stored)

BOOST_AUTO_TEST_CASE(a_copy_of_many_blocks_is_compared_to_its_last_byte) {
  std::string rows(2 * 1024 * 1500, '\0');
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<char>(i * 7 + i / 251);
  for (std::size_t const spoiled : {std::size_t{0}, std::size_t{(1 << 20) + 5}, rows.size() - 1, rows.size()}) {
    one_file f;
    f.add("lm_head.weight", dtype::bf16, {1500, 1024}, rows);
    f.add("model.norm.weight", dtype::bf16, {1024}, std::string(2048, 'n'));
    f.add("model.embed_tokens.weight", dtype::bf16, {1500, 1024}, rows);
    if (spoiled < rows.size()) f.content[spoiled] ^= 1;
    auto const r = f.compare(llama_map, tied());
    if (spoiled < rows.size()) {
      BOOST_TEST(says(r, {"\"lm_head.weight\"", "embed_tokens", "byte " + std::to_string(spoiled) + ";"}));
    } else {
      BOOST_TEST((r && r->tensors == 1 && r->read == bytes{2 * rows.size()}));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_copy_of_another_dtype_is_an_error_before_a_byte_is_read) {
  one_file f;
  f.add("lm_head.weight", dtype::f32, {1500, 1024}, "");
  f.add("model.embed_tokens.weight", dtype::bf16, {1500, 1024}, "");
  BOOST_TEST(says(f.compare(llama_map, tied()), {"a copy of \"model.embed_tokens.weight\", BF16", "found F32"}));
}

BOOST_AUTO_TEST_CASE(sizes_of_packed_linears_are_those_of_the_config) {
  auto const config = model_config::of({{"hidden_size", 6}, {"num_hidden_layers", 3}});
  auto const make = [](u32 rows) {
    one_file f;
    f.add_size<u64>("layers.2.up.shape", dtype::int64, 6, 8);
    f.add("layers.0.up.packed", dtype::uint8, {6, 4}, std::string(24, 'p'));
    f.add_size<u32>("layers.0.up.shape", dtype::int32, rows, 8);
    f.add_size<u32>("layers.1.up.shape", dtype::int32, 6, 8);
    return f;
  };
  auto const r = make(6).compare(packed_map, config, "packed");
  BOOST_TEST((r && r->tensors == 3));
  BOOST_TEST(says(make(7).compare(packed_map, config, "packed"), {"layers.0.up.shape", "[6, 8]", "found [7, 8]"}));
  auto f = make(6);
  f.all.tensors[3].type = dtype::f32;
  BOOST_TEST(says(f.compare(packed_map, config, "packed"), {"layers.1.up.shape", "I32 or I64 [2]", "found F32 [2]"}));
  BOOST_TEST(make(7).compare(packed_map, config, "none").value().tensors == 0u);  // nothing is packed, by this wish
}

BOOST_AUTO_TEST_SUITE_END()
