#include <penstock/model/choose.hpp>

#include <boost/test/unit_test.hpp>
#include <vector>

namespace {
using namespace penstock;

std::vector<std::string> names(std::initializer_list<char const*> list) { return {list.begin(), list.end()}; }
std::string index_in(std::initializer_list<char const*> list) {
  return detail::index_of_folder(names(list), "x").value();
}
}  // namespace

BOOST_AUTO_TEST_SUITE(model_choose)

BOOST_AUTO_TEST_CASE(metadata_is_all_but_weights) {
  for (auto name :
       {"config.json", "tokenizer.model", "tokenizer.json", "chat_template.jinja", "a/b/preprocessor_config.json",
        "modeling_x.py", "vocab.txt", "params.yaml", "model.safetensors.index.json", "merges", "binary"})
    BOOST_TEST(detail::is_metadata(name), name);
  for (auto name :
       {"model.safetensors", "pytorch_model.bin", "a/MODEL.BIN", "x.pt", "x.pth", "x.gguf", "x.onnx", "x.onnx_data",
        "x.h5", "x.msgpack", "x.tensors", "x.ckpt", "x.npz", "x.pdparams", ".git/config", ".cache/x.json", "sub/"})
    BOOST_TEST(!detail::is_metadata(name), name);
}

BOOST_AUTO_TEST_CASE(a_uri_that_ends_in_safetensors_is_one_file_of_its_folder) {
  struct {
    char const *given, *root, *only;
  } const cases[] = {
      {"model.safetensors", ".", "model.safetensors"},
      {"/model.safetensors", "/", "model.safetensors"},
      {"a/b.safetensors", "a", "b.safetensors"},
      {"/a b/c%20d.safetensors", "/a b", "c%20d.safetensors"},
      {"file:///c%20d.safetensors", "file:///", "c d.safetensors"},
      {"file:///a/c.safetensors", "file:///a", "c.safetensors"},
      {"az://c/model.safetensors", "az://c", "model.safetensors"},
      {"az://c/m/x%20y.safetensors", "az://c/m", "x%20y.safetensors"},
      {"https://h/c/x%20y.safetensors?sig=%2B/x", "https://h/c?sig=%2B/x", "x y.safetensors"},
      {"az://model.safetensors", "az://model.safetensors", ""},
      {"az://c/m", "az://c/m", ""},
      {"az://c/m.safetensors/", "az://c/m.safetensors/", ""},
      {"https://h/c?x=/y.safetensors", "https://h/c?x=/y.safetensors", ""},
      {"az://c/.safetensors", "az://c/.safetensors", ""},
  };
  for (auto const& c : cases) {
    auto const place = detail::place_of(*uri::parse(c.given)).value();
    BOOST_TEST(place.root.text() == c.root, c.given);
    BOOST_TEST(place.only == c.only, c.given);
  }
  auto const broken = detail::place_of(*uri::parse("file:///a/%zz.safetensors"));
  BOOST_REQUIRE(!broken);
  BOOST_TEST((broken.error().kind() == error_kind::usage));
}

BOOST_AUTO_TEST_CASE(the_usual_index_counts_and_then_the_only_one) {
  BOOST_TEST(index_in({"model.safetensors.index.json", "other.safetensors.index.json", "model.safetensors"}) ==
             "model.safetensors.index.json");
  BOOST_TEST(index_in({"other.safetensors.index.json", "model.safetensors"}).empty());
  BOOST_TEST(index_in({"other.safetensors.index.json", "x.safetensors"}) == "other.safetensors.index.json");
  BOOST_TEST(index_in({"consolidated.safetensors.index.json", "other.safetensors.index.json"}) ==
             "other.safetensors.index.json");
  BOOST_TEST(index_in({"consolidated.safetensors.index.json"}) == "consolidated.safetensors.index.json");
  BOOST_TEST(index_in({"sub/model.safetensors.index.json", "pytorch_model.bin.index.json"}).empty());
  auto const two = detail::index_of_folder(names({"b.safetensors.index.json", "a.safetensors.index.json"}), "az://m");
  BOOST_REQUIRE(!two);
  BOOST_TEST((two.error().kind() == error_kind::config));
  for (auto part : {"az://m", "a.safetensors.index.json", "b.safetensors.index.json"})
    BOOST_TEST(two.error().message().find(part) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_message_names_ten_files_at_most) {
  std::vector<std::string> const many(12, "x");
  BOOST_TEST(detail::some_of(many).ends_with("x, x and 2 more"));
  BOOST_TEST(detail::some_of(names({"a", "b"})) == "a, b");
}
BOOST_AUTO_TEST_SUITE_END()
