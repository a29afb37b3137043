#include <penstock/model/snapshot.hpp>

#include <sys/stat.h>

#include <type_traits>

#include "../storage/folder.hpp"

namespace {
using namespace penstock;
using fixture::folder, fixture::has;
namespace fs = std::filesystem;

local_snapshot of(std::string const& directory) { return detail::snapshot_maker::of(directory); }

template <class T> concept config_of = requires(T const& t) { read_config(t); };
template <class T> concept text_of = requires(T const& t) { read_text(t, "x"); };
template <class T> concept copies = requires(T const& t) { copy_snapshot(t, "x"); };
template <class T>
constexpr bool is_a_directory = config_of<T> || text_of<T> || copies<T> || std::is_constructible_v<local_snapshot, T>;
template <class T> concept gives_its_directory = requires { std::declval<T>().directory(); };
}  // namespace

BOOST_AUTO_TEST_SUITE(model_snapshot)

BOOST_AUTO_TEST_CASE(nothing_but_a_snapshot_is_a_directory) {
  BOOST_TEST((config_of<local_snapshot> && text_of<local_snapshot> && copies<local_snapshot>));
  BOOST_TEST(!is_a_directory<uri>);
  BOOST_TEST(!is_a_directory<std::string>);
  BOOST_TEST(!is_a_directory<std::string_view>);
  BOOST_TEST(!is_a_directory<char const*>);
  BOOST_TEST(!is_a_directory<char[9]>);
  BOOST_TEST(!is_a_directory<fs::path>);
  BOOST_TEST(!std::is_default_constructible_v<local_snapshot>);
  BOOST_TEST(gives_its_directory<local_snapshot const&>);
  BOOST_TEST(!gives_its_directory<local_snapshot>);
}

BOOST_AUTO_TEST_CASE(its_files_are_read_by_name) {
  folder f;
  f.write("m/tokenizer.json", "text");
  f.write("m/sub/chat.jinja", "template");
  f.write("secret", "x");
  auto const s = of(f / "m");
  BOOST_TEST(s.read("tokenizer.json").value() == "text");
  BOOST_TEST(read_text(s, "sub/chat.jinja").value() == "template");
  BOOST_TEST((s.read("gone").error().kind() == error_kind::not_found));
  BOOST_TEST(has(s.read("gone").error().message(), f / "m/gone"));
  BOOST_TEST((s.read("tokenizer.json", bytes{3}).error().kind() == error_kind::config));
  BOOST_TEST(s.read("tokenizer.json", bytes{4}).has_value());
  BOOST_TEST((s.read("sub").error().kind() == error_kind::config));
  for (auto name : {"../secret", "/etc/hostname", "", "sub//chat.jinja", "sub/../../secret"})
    BOOST_TEST((s.read(name).error().kind() == error_kind::config), name);
}

BOOST_AUTO_TEST_CASE(its_list_has_no_weights) {
  folder f;
  for (auto name : {"model.safetensors", "config.json", "sub/x.py", "sub/y.bin"}) f.write(name, "x");
  fs::resize_file(f.write("large.json", ""), detail::largest_metadata.count + 1);
  auto const names = of(f.text()).files().value();
  BOOST_TEST(names == (std::vector<std::string>{"config.json", "sub/x.py"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_config_that_is_not_there_is_empty_and_a_broken_one_an_error) {
  folder f;
  BOOST_TEST(read_config(of(f.text())).value().empty());
  f.write("config.json", R"({"model_type":"llama","hidden_size":64,"num_attention_heads":4})");
  auto const config = read_config(of(f.text())).value();
  BOOST_TEST(config.model_type() == "llama");
  BOOST_TEST(!config.quantization());
  for (auto text : {"", "{", "[]"}) {
    auto const path = f.write("config.json", text);
    auto const broken = read_config(of(f.text()));
    BOOST_REQUIRE(!broken);
    BOOST_TEST((broken.error().kind() == error_kind::config));
    BOOST_TEST(has(broken.error().message(), path));
  }
  f.write("config.json", R"({"hidden_size":64})");
  f.write("hf_quant_config.json", "{");
  auto const beside = read_config(of(f.text()));
  BOOST_REQUIRE(!beside);
  BOOST_TEST(has(beside.error().message(), "hf_quant_config.json"));
}

BOOST_AUTO_TEST_CASE(a_quantisation_inside_the_text_config_is_found) {
  folder f;
  f.write(
      "config.json",
      R"({"architectures":["X"],"vision_config":{},"text_config":{"quantization_config":{"quant_method":"compressed-tensors",)"
      R"("format":"pack-quantized","config_groups":{"group_0":{"targets":["Linear"],"weights":{"num_bits":4,"type":"int",)"
      R"("strategy":"group","group_size":32,"symmetric":true}}},"ignore":["lm_head"]}}})");
  auto const config = read_config(of(f.text())).value();
  BOOST_TEST((config.quantization() != nullptr));
}

BOOST_AUTO_TEST_CASE(a_copy_in_a_new_folder_is_complete) {
  folder f;
  f.write("m/config.json", "{}");
  f.write("m/a/b/x.py", "code");
  f.write("m/model.safetensors", "weights");
  f.write("m/empty.txt", "");
  BOOST_REQUIRE(copy_snapshot(of(f / "m"), f / "new/folder/").has_value());
  BOOST_TEST(fixture::read(f / "new/folder/a/b/x.py") == "code");
  BOOST_TEST(fs::exists(f / "new/folder/empty.txt"));
  BOOST_TEST(!fs::exists(f / "new/folder/model.safetensors"));
  BOOST_TEST(std::distance(fs::directory_iterator{f / "new"}, {}) == 1);
  BOOST_TEST(copy_snapshot(of(f / "m"), f / "new/folder").has_value());  // again: equal files are fine
}

BOOST_AUTO_TEST_CASE(a_copy_writes_over_nothing_else) {
  folder f;
  f.write("m/a.json", "a");
  f.write("m/b.json", "b");
  f.write("to/b.json", "other");
  f.write("to/mine", "mine");
  auto const refused = copy_snapshot(of(f / "m"), f / "to");
  BOOST_REQUIRE(!refused);
  BOOST_TEST((refused.error().kind() == error_kind::io));
  BOOST_TEST(has(refused.error().message(), f / "to/b.json"));
  BOOST_TEST(!fs::exists(f / "to/a.json"));
  f.write("to/b.json", "b");
  BOOST_REQUIRE(copy_snapshot(of(f / "m"), f / "to").has_value());
  BOOST_TEST(fixture::read(f / "to/a.json") == "a");
  BOOST_TEST(fixture::read(f / "to/mine") == "mine");
  BOOST_TEST(std::distance(fs::directory_iterator{f / "to"}, {}) == 3);
}

BOOST_AUTO_TEST_CASE(a_copy_to_where_no_folder_can_be_is_an_io_error) {
  folder f;
  f.write("m/a.json", "a");
  f.write("file", "x");
  for (auto to : {"file", "file/below", "file/below/it"}) {
    auto const refused = copy_snapshot(of(f / "m"), f / to);
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.error().kind() == error_kind::io), to);
    BOOST_TEST(has(refused.error().message(), f / "file"));
  }
  fs::create_directories(f / "to/a.json");
  BOOST_TEST((copy_snapshot(of(f / "m"), f / "to").error().kind() == error_kind::io));
  BOOST_TEST((copy_snapshot(of(f / "gone"), f / "to2").error().kind() == error_kind::not_found));
  BOOST_TEST(!fs::exists(f / "to2"));
}

BOOST_AUTO_TEST_CASE(what_it_copies_is_for_this_user_alone) {
  folder f;
  f.write("m/a.json", "a");
  BOOST_REQUIRE(copy_snapshot(of(f / "m"), f / "to").has_value());
  struct stat s;
  BOOST_REQUIRE(::stat((f / "to/a.json").c_str(), &s) == 0);
  BOOST_TEST((s.st_mode & 0777) == 0600u);
  BOOST_REQUIRE(::stat((f / "to").c_str(), &s) == 0);
  BOOST_TEST((s.st_mode & 0777) == 0700u);
}
BOOST_AUTO_TEST_SUITE_END()
