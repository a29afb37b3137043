#include <penstock/model/cache.hpp>

#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "../storage/folder.hpp"

#include <fcntl.h>

namespace {
using namespace penstock;
using detail::cached_snapshot, detail::snapshot_file;
using fixture::folder, fixture::has;
namespace fs = std::filesystem;

std::vector<snapshot_file> two_files(std::string const& version = "v1") {
  return {{"config.json", bytes{2}, version}, {"sub/x.py", bytes{4}, "\"etag %\n\""}};
}
result<cached_snapshot> open(fs::path const& cache, std::vector<snapshot_file> files = two_files(),
                             std::string const& uri = "az://c/org/model") {
  return cached_snapshot::open(cache, uri, std::move(files), {}, {});
}
result<void> fill(cached_snapshot& s) {
  for (auto [file, text] : {std::pair{0u, "{}"}, {1u, "code"}})
    if (auto done = s.write(file, {}, std::as_bytes(std::span{std::string_view{text}})); !done) return done;
  return s.commit();
}
fs::path make(fs::path const& cache, std::vector<snapshot_file> files = two_files()) {
  auto s = open(cache, std::move(files)).value();
  if (!s.complete()) fill(s).value();
  return s.directory();
}
std::vector<std::string> below(fs::path const& path) {
  std::vector<std::string> names;
  for (auto const& entry : fs::directory_iterator{path}) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}
unsigned mode_of(fs::path const& path) {
  struct stat s;
  return ::lstat(path.c_str(), &s) == 0 ? s.st_mode & 0777 : 0;
}
/// Runs `f` in another process. @returns its id
template <class F>
pid_t elsewhere(F&& f) {
  pid_t const id = ::fork();
  if (id == 0) ::_exit(f() ? 0 : 1);
  return id;
}
int status_of(pid_t id) {
  int status = -1;
  ::waitpid(id, &status, 0);
  return status;
}
/// Sets variables of the environment, and puts them back.
class environment {
 public:
  environment(char const* cache, char const* xdg, char const* home) {
    for (auto [i, value] : {std::pair{0u, cache}, {1u, xdg}, {2u, home}}) {
      if (char const* old = std::getenv(names[i])) before_[i] = old;
      set(names[i], value);
    }
  }
  environment(environment const&) = delete;
  environment& operator=(environment const&) = delete;
  ~environment() {
    for (unsigned i = 0; i < 3; ++i) set(names[i], before_[i] ? before_[i]->c_str() : nullptr);
  }

 private:
  static constexpr char const* names[] = {"PENSTOCK_CACHE", "XDG_CACHE_HOME", "HOME"};
  static void set(char const* name, char const* value) { value ? ::setenv(name, value, 1) : ::unsetenv(name); }
  std::optional<std::string> before_[3];
};
}  // namespace

BOOST_AUTO_TEST_SUITE(model_cache)

BOOST_AUTO_TEST_CASE(the_cache_is_chosen_or_comes_from_the_environment) {
  {
    environment const all{"/p", "/x", "/h"};
    BOOST_TEST(detail::cache_folder("/mine").value() == "/mine");
    BOOST_TEST(detail::cache_folder("mine").value() == fs::current_path() / "mine");
    BOOST_TEST(detail::cache_folder("").value() == "/p");
  }
  {
    environment const two{nullptr, "/x", "/h"};
    BOOST_TEST(detail::cache_folder("").value() == "/x/penstock");
  }
  {
    environment const relative{"", "x", "/h"};
    BOOST_TEST(detail::cache_folder("").value() == "/h/.cache/penstock");
  }
  environment const none{nullptr, nullptr, nullptr};
  auto const nowhere = detail::cache_folder("");
  BOOST_REQUIRE(!nowhere);
  BOOST_TEST((nowhere.error().kind() == error_kind::io));
  BOOST_TEST(has(nowhere.error().message(), "PENSTOCK_CACHE"));
}

BOOST_AUTO_TEST_CASE(a_snapshot_is_made_once_and_found_again) {
  folder f;
  auto const directory = make(f / "cache");
  BOOST_TEST(fixture::read(directory / "config.json") == "{}");
  BOOST_TEST(fixture::read(directory / "sub/x.py") == "code");
  BOOST_TEST(has(directory.string(), "/org_model-"));
  auto const again = open(f / "cache").value();
  BOOST_TEST(again.complete());
  BOOST_TEST(again.directory() == directory);
  BOOST_TEST(below(f / "cache/snapshots").size() == 2u);  // it, and its lock
}

BOOST_AUTO_TEST_CASE(it_is_for_this_user_alone) {
  folder f;
  auto const directory = make(f / "cache");
  BOOST_TEST(mode_of(f / "cache") == 0700u);
  BOOST_TEST(mode_of(directory) == 0700u);
  BOOST_TEST(mode_of(directory / "sub") == 0700u);
  BOOST_TEST(mode_of(directory / "config.json") == 0600u);
  BOOST_TEST(mode_of(directory.parent_path() / "manifest") == 0600u);
}

BOOST_AUTO_TEST_CASE(other_content_is_another_snapshot) {
  folder f;
  auto const first = make(f / "cache");
  auto const second = make(f / "cache", two_files("v2"));
  BOOST_TEST(first != second);
  BOOST_TEST(fs::exists(first / "config.json"));
  BOOST_TEST(!open(f / "cache", two_files(), "az://c/org/other").value().complete());
  auto more = two_files();
  more.push_back({"z", bytes{}, "v"});
  BOOST_TEST(!open(f / "cache", more).value().complete());
}

BOOST_AUTO_TEST_CASE(a_damaged_snapshot_is_left_alone_and_made_again) {
  folder f;
  auto const first = make(f / "cache");
  f.write("cache/keep", "");
  std::ofstream{first / "config.json"} << "[]";  // the same size, another time
  fs::last_write_time(first / "config.json", fs::file_time_type::clock::now() + std::chrono::hours{1});
  auto const second = make(f / "cache");
  BOOST_TEST(second != first);
  BOOST_TEST(fixture::read(second / "config.json") == "{}");
  BOOST_TEST(fixture::read(first / "config.json") == "[]");
  fs::remove(second / "sub/x.py");
  auto const third = make(f / "cache");
  BOOST_TEST((third != first && third != second));
  fs::remove(third.parent_path() / "manifest");
  auto const fourth = make(f / "cache");
  fs::remove(fourth / "config.json");
  fs::create_symlink("/etc/hostname", fourth / "config.json");
  BOOST_TEST(make(f / "cache") != fourth);
}

BOOST_AUTO_TEST_CASE(a_manifest_of_another_uri_does_not_count) {
  folder f;
  auto const directory = make(f / "cache");
  auto const path = directory.parent_path() / "manifest";
  auto text = fixture::read(path);  // as if the two had the same hash
  text.replace(text.find("az://c/org/model"), 16, "az://c/org/other");
  std::ofstream{path} << text;
  BOOST_TEST(!open(f / "cache").value().complete());
}

BOOST_AUTO_TEST_CASE(what_is_given_up_leaves_nothing) {
  folder f;
  {
    auto s = open(f / "cache").value();
    BOOST_TEST(!s.complete());
    BOOST_REQUIRE(s.write(0, {}, std::as_bytes(std::span{"{}", 2})).has_value());
    BOOST_TEST(below(f / "cache/snapshots").size() == 2u);
  }
  BOOST_TEST(below(f / "cache/snapshots").size() == 1u);  // the lock
  auto s = open(f / "cache").value();
  auto const unfinished = s.commit();  // the files have not their sizes
  BOOST_REQUIRE(!unfinished);
  BOOST_TEST((unfinished.error().kind() == error_kind::io));
}

BOOST_AUTO_TEST_CASE(what_a_killed_process_left_is_cleared_away) {
  folder f;
  auto const child = elsewhere([&] {
    auto s = open(f / "cache");
    if (s) (void)s->write(0, {}, std::as_bytes(std::span{"{}", 2}));
    std::raise(SIGKILL);
    return false;
  });
  int const status = status_of(child);
  BOOST_TEST((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
  BOOST_TEST(below(f / "cache/snapshots").size() == 2u);
  auto const directory = make(f / "cache");
  BOOST_TEST(fixture::read(directory / "sub/x.py") == "code");
  BOOST_TEST(below(f / "cache/snapshots").size() == 2u);
}

BOOST_AUTO_TEST_CASE(two_processes_at_once_fetch_once) {
  folder f;
  std::array<pid_t, 4> children{};
  for (auto& child : children)
    child = elsewhere([&] {
      auto s = open(f / "cache");
      if (!s) return false;
      if (!s->complete()) {
        std::ofstream{f / "fetches", std::ios::app} << "x";
        std::this_thread::sleep_for(std::chrono::milliseconds{50});
        if (!fill(*s)) return false;
      }
      return fixture::read(s->directory() / "config.json") == "{}" &&
             fixture::read(s->directory() / "sub/x.py") == "code";
    });
  for (auto child : children) BOOST_TEST(status_of(child) == 0);
  BOOST_TEST(fixture::read(f / "fetches") == "x");
  BOOST_TEST(below(f / "cache/snapshots").size() == 2u);
}

BOOST_AUTO_TEST_CASE(threads_of_one_process_fetch_once_too) {
  folder f;
  std::array<std::string, 4> found;
  std::array<int, 4> fetched{};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < found.size(); ++i)
    threads.emplace_back([&, i] {
      auto s = open(f / "cache");
      if (!s) return;
      if (!s->complete()) {
        fetched[i] = 1;
        if (!fill(*s)) return;
      }
      found[i] = s->directory().string();
    });
  for (auto& t : threads) t.join();
  BOOST_TEST(fetched[0] + fetched[1] + fetched[2] + fetched[3] == 1);
  for (auto const& directory : found) BOOST_TEST(directory == found[0]);
  BOOST_TEST(fs::exists(found[0]));
}

BOOST_AUTO_TEST_CASE(who_waits_for_another_is_told_and_can_be_stopped) {
  folder f;
  auto const holder = open(f / "cache").value();
  BOOST_TEST(!holder.complete());
  std::vector<std::string> notices;
  observer watch{.on_progress = {}, .on_notice = [&](std::string_view text) { notices.emplace_back(text); }};
  std::stop_source stop;
  std::thread later{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    stop.request_stop();
  }};
  auto const waited = cached_snapshot::open(f / "cache", "az://c/org/model", two_files(), watch, stop.get_token());
  later.join();
  BOOST_REQUIRE(!waited);
  BOOST_TEST((waited.error().kind() == error_kind::cancelled));
  BOOST_REQUIRE(notices.size() == 1u);
  BOOST_TEST(has(notices[0], "az://c/org/model"));
}

BOOST_AUTO_TEST_CASE(a_cache_that_cannot_be_written_is_an_io_error_that_says_how_to_choose_another) {
  folder f;
  f.write("file", "x");
  for (auto cache : {"file", "file/below"}) {
    auto const got = open(f / cache);
    BOOST_REQUIRE(!got);
    BOOST_TEST((got.error().kind() == error_kind::io));
    BOOST_TEST(has(got.error().message(), f / "file"));
    BOOST_TEST(has(got.error().message(), "PENSTOCK_CACHE"));
  }
}

BOOST_AUTO_TEST_CASE(a_full_disk_is_an_io_error_and_leaves_nothing) {
  folder f;
  auto const child = elsewhere([&] {
    rlimit const none{1, 1};  // no file may grow beyond a byte: as full as a disk can be
    std::signal(SIGXFSZ, SIG_IGN);
    if (::setrlimit(RLIMIT_FSIZE, &none) != 0) return false;
    auto s = open(f / "cache");
    if (!s) return false;
    auto const done = fill(*s);
    return !done && done.error().kind() == error_kind::io && has(done.error().message(), "config.json") &&
           has(done.error().message(), "PENSTOCK_CACHE");
  });
  BOOST_TEST(status_of(child) == 0);
  BOOST_TEST(below(f / "cache/snapshots").size() == 1u);  // the lock
}

BOOST_AUTO_TEST_CASE(a_name_that_is_file_and_folder_is_refused) {
  folder f;
  auto const got = open(f / "cache", {{"a", bytes{1}, "v"}, {"a/b", bytes{1}, "v"}});
  BOOST_REQUIRE(!got);
  BOOST_TEST((got.error().kind() == error_kind::config));
  BOOST_TEST(has(got.error().message(), "a/b"));
  auto const apart = open(f / "cache", {{"a", bytes{1}, "v"}, {"a-", bytes{1}, "v"}, {"a/b/c", bytes{1}, "v"}});
  BOOST_REQUIRE(!apart);
  BOOST_TEST((apart.error().kind() == error_kind::config));
}

BOOST_AUTO_TEST_CASE(its_name_is_readable_and_safe) {
  BOOST_TEST(detail::snapshot_name("az://c/org/Model-1.5/", {}).starts_with("org_Model-1.5-"));
  BOOST_TEST(detail::snapshot_name("az://c/..", {}).starts_with("c_..-"));
  BOOST_TEST(detail::snapshot_name("memory://m", {}).starts_with("_m-"));
  BOOST_TEST(detail::snapshot_name("..", {}).starts_with("_.-"));
  auto const odd = detail::snapshot_name("az://c/a b\\/\xc3\xbc" + std::string(300, 'x'), {});
  BOOST_TEST(odd.size() == 80u + 17u);
  BOOST_TEST(odd.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == odd.npos);
}
BOOST_AUTO_TEST_SUITE_END()
