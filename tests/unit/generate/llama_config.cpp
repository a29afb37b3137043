#include "../../../examples/generate/llama_config.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>

namespace {
constexpr char const* least =
    R"("model_type":"llama","hidden_size":48,"intermediate_size":96,"num_hidden_layers":3,"num_attention_heads":6,)"
    R"("vocab_size":350)";

/// A folder with a config.json of the least keys and `more`, and maybe a generation_config.json.
struct folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("penstock_config_" + std::to_string(std::random_device{}()));
  explicit folder(std::string const& config, std::string const& generation = "") {
    std::filesystem::create_directory(path);
    std::ofstream{path / "config.json"} << config;
    if (!generation.empty()) std::ofstream{path / "generation_config.json"} << generation;
  }
  ~folder() { std::filesystem::remove_all(path); }
  folder(folder const&) = delete;
  folder& operator=(folder const&) = delete;
};

generate::llama_config read(std::string const& more, std::string const& generation = "") {
  folder const f{std::string{"{"} + least + more + "}", generation};
  return generate::read_llama_config(f.path);
}

void refused(std::string const& more, std::string const& words) {
  BOOST_CHECK_EXCEPTION(read(more), std::runtime_error, [&](std::runtime_error const& e) {
    BOOST_TEST_MESSAGE(e.what());
    return std::string{e.what()}.find(words) != std::string::npos;
  });
}
}  // namespace

BOOST_AUTO_TEST_SUITE(generate_llama_config)

BOOST_AUTO_TEST_CASE(absent_keys_have_the_defaults_of_the_model_class) {
  auto const c = read("");
  BOOST_TEST(c.hidden == 48u);
  BOOST_TEST(c.intermediate == 96u);
  BOOST_TEST(c.layers == 3u);
  BOOST_TEST(c.heads == 6u);
  BOOST_TEST(c.kv_heads == 6u);
  BOOST_TEST(c.head_dim == 8u);
  BOOST_TEST(c.vocab == 350u);
  BOOST_TEST(c.positions == 2048u);
  BOOST_TEST(c.rope_theta == 10000.0F);
  BOOST_TEST(c.rms_norm_eps == 1e-6F);
  BOOST_TEST(!c.tied_head);
  BOOST_TEST(c.end_of_text.empty());
  BOOST_TEST(!c.begin_of_text.has_value());
}

BOOST_AUTO_TEST_CASE(present_keys_are_read_and_null_counts_as_absent) {
  auto const c = read(R"(,"num_key_value_heads":3,"head_dim":null,"rope_theta":100000.0,"rope_scaling":null,)"
                      R"("rms_norm_eps":1e-05,"tie_word_embeddings":true,"eos_token_id":2,"bos_token_id":1,)"
                      R"("max_position_embeddings":8192)");
  BOOST_TEST_REQUIRE(c.begin_of_text.has_value());
  BOOST_TEST(*c.begin_of_text == 1u);
  BOOST_TEST(c.kv_heads == 3u);
  BOOST_TEST(c.head_dim == 8u);
  BOOST_TEST(c.positions == 8192u);
  BOOST_TEST(c.rope_theta == 100000.0F);
  BOOST_TEST(c.rms_norm_eps == 1e-5F);
  BOOST_TEST(c.tied_head);
  BOOST_TEST((c.end_of_text == std::vector<generate::token_id>{2}));
  BOOST_TEST(read(R"(,"head_dim":16)").head_dim == 16u);
}

BOOST_AUTO_TEST_CASE(rope_theta_may_stand_in_rope_parameters) {
  BOOST_TEST(read(R"(,"rope_parameters":{"rope_theta":5000.0,"rope_type":"default"})").rope_theta == 5000.0F);
}

BOOST_AUTO_TEST_CASE(the_generation_config_says_where_a_text_ends) {
  auto const c = read(R"(,"eos_token_id":2)", R"({"eos_token_id":[7,8]})");
  BOOST_TEST((c.end_of_text == std::vector<generate::token_id>{7, 8}));
  BOOST_TEST((read(R"(,"eos_token_id":2)", "{}").end_of_text == std::vector<generate::token_id>{2}));
}

BOOST_AUTO_TEST_CASE(what_the_engine_cannot_compute_is_refused) {
  refused(R"(,"hidden_act":"gelu")", "hidden_act silu, found 'gelu'");
  refused(R"(,"rope_scaling":{"rope_type":"llama3","factor":8.0})", "rope_type default, found 'llama3'");
  refused(R"(,"rope_scaling":{"type":"linear","factor":2.0})", "rope_type default, found 'linear'");
  refused(R"(,"num_key_value_heads":4)", "whole groups of heads");
  refused(R"(,"head_dim":7)", "even head_dim");
  refused(R"(,"max_position_embeddings":-1)", "positive number as max_position_embeddings");
  refused(R"(,"rope_theta":"big")", "a number as rope_theta");
}

BOOST_AUTO_TEST_CASE(another_model_or_a_missing_key_is_named) {
  auto const says = [](std::string const& config, std::string const& words) {
    folder const f{config};
    BOOST_CHECK_EXCEPTION(generate::read_llama_config(f.path), std::runtime_error, [&](std::runtime_error const& e) {
      return std::string{e.what()}.find(words) != std::string::npos;
    });
  };
  says(R"({"model_type":"gemma2"})", "model_type llama, found 'gemma2'");
  says(R"({"model_type":"llama"})", "expected hidden_size");
  says("{", "config.json");
}

BOOST_AUTO_TEST_SUITE_END()
