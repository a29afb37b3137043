#include <penstock/plan/inventory.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <span>
#include <utility>

#include <penstock/format/safetensors.hpp>

#include "interrupt.hpp"
#include "output.hpp"
#include "program.hpp"
#include "progress_bar.hpp"
#include "synth_config.hpp"
#include "synth_shards.hpp"
#include "synth_values.hpp"

using namespace penstock;
namespace fs = std::filesystem;

namespace {
/// A folder that was not there, or was empty. Files get their names when all of them are written; else nothing is left.
class new_folder {
 public:
  /// @errors usage: there is something; io
  static result<new_folder> make(std::string const& path) {
    std::error_code failed;
    new_folder f;
    f.path_ = path;
    auto const there = fs::status(path, failed);
    if (fs::exists(there) && !fs::is_directory(there))
      return error{error_kind::usage, "DIR: expected a new or an empty folder, found the file " + path};
    if (fs::exists(there)) {
      bool const empty = fs::is_empty(path, failed);
      if (failed) return f.wrong("look into", failed);
      if (!empty)
        return error{error_kind::usage,
                     "DIR: expected a new or an empty folder, found " + path + " with files in it; nothing is written"};
      return f;
    }
    fs::create_directories(path, failed);
    if (failed) return f.wrong("make", failed);
    f.made_ = true;
    return f;
  }
  new_folder(new_folder&& o) noexcept
      : path_(std::move(o.path_)), made_(std::exchange(o.made_, false)), files_(std::move(o.files_)) {}
  new_folder& operator=(new_folder&&) = delete;
  ~new_folder() {
    files_.clear();
    std::error_code ignored;
    if (made_) fs::remove(path_, ignored);  // which an empty folder alone can be
  }

  /// @errors io: less than that is free
  result<void> expect_room(bytes needed) const {
    std::error_code failed;
    auto const space = fs::space(path_, failed);
    if (failed || space.available >= needed.count) return {};
    return error{error_kind::io, "expected " + std::to_string(needed.count) + " free bytes for " + path_ + ", found " +
                                     std::to_string(space.available) +
                                     "; choose another place or a smaller model, or write holes with --sparse"};
  }
  /// A file to be written. Each is closed before the next.
  result<output_file*> add(std::string const& name) {
    auto f = output_file::create(path_ + "/" + name);
    if (!f) return std::move(f).error();
    return &files_.emplace_back(*std::move(f));
  }
  /// Gives the files their names, in the order in which they were added. @errors io
  result<void> commit() {
    for (auto& f : files_)
      if (auto r = f.commit(); !r) return r;
    made_ = false;
    return {};
  }

 private:
  new_folder() = default;
  error wrong(char const* what, std::error_code why) const {
    return error{error_kind::io, std::string{"cannot "} + what + " the folder " + path_ + ": " + why.message() +
                                     "; choose another place"};
  }
  std::string path_;
  bool made_ = false;
  std::vector<output_file> files_;
};

std::span<std::byte const> bytes_of(std::string const& text) {
  return std::as_bytes(std::span{text.data(), text.size()});
}

class shard_writer {
 public:
  shard_writer(new_folder& folder, arguments const& a, std::stop_token stop)
      : folder_(folder), a_(a), stop_(std::move(stop)) {}

  result<void> write(synth_shard const& s, std::string const& header) {
    auto f = folder_.add(s.name);
    if (!f) return std::move(f).error();
    file_ = *f;
    if (auto r = file_->write(bytes_of(header)); !r) return r;
    bytes end{header.size()};
    for (auto const& t : s.tensors) {
      end += t.size;
      if (!a_.sparse)
        if (auto r = write(t); !r) return r;
    }
    if (a_.sparse)
      if (auto r = file_->extend_to(end); !r) return r;
    return file_->close();
  }

 private:
  result<void> write(inventory_tensor const& t) {
    auto const values = synth_values::of(t, a_.seed);
    if (!values) return values.error();
    for (u64 at = 0; at < t.size.count; at += buffer_.size()) {
      if (stop_.stop_requested())
        return error{error_kind::cancelled,
                     "expected to write the checkpoint to its end, but it was stopped on "
                     "request; nothing is left of it"};
      std::span const part{buffer_.data(), std::min<u64>(buffer_.size(), t.size.count - at)};
      values->fill(at / 8, part);
      if (auto r = file_->write(part); !r) return r;
    }
    return {};
  }

  new_folder& folder_;
  arguments const& a_;
  std::stop_token stop_;
  output_file* file_ = nullptr;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(mebibytes(1).count);
};

result<std::vector<inventory_tensor>> tensors_of(std::string const& json) {
  auto const config = model_config::parse(bytes_of(json));
  if (!config) return config.error();
  auto const map = choose_map(pipeline<program_policies>::maps(), *config);
  if (!map) return map.error();
  auto const floats = config->text("torch_dtype").value_or("bfloat16");
  auto all = inventory_of(*map, *config, {},
                          floats == "float32"   ? dtype::f32
                          : floats == "float16" ? dtype::f16
                                                : dtype::bf16);
  if (!all && all.error().kind() == error_kind::plan)  // which speaks to those who split a model
    return error{error_kind::plan, all.error().message() + "; of a synthetic model, choose another --quant or --scale"};
  return all;
}
}  // namespace

result<void> synth(arguments const& a) {
  interrupt stop;
  auto const config = synth_config(a);
  if (!config) return config.error();
  auto tensors = tensors_of(*config);
  if (!tensors) return std::move(tensors).error();
  std::size_t const count = tensors->size();
  if (a.shards && !*a.shards) return error{error_kind::usage, "--shards: expected a number from 1, found 0"};
  auto const shards = a.shuffle ? synth_shuffled_shards(*std::move(tensors), a.shards.value_or(0), a.seed)
                                : synth_shards(*std::move(tensors), a.shards.value_or(0));
  if (!shards) return shards.error();

  auto folder = new_folder::make(a.directory);
  if (!folder) return std::move(folder).error();
  bytes data, headers;
  for (auto const& s : *shards)
    for (auto const& t : s.tensors) data += t.size;
  if (!a.sparse)
    if (auto r = folder->expect_room(data); !r) return r;
  shard_writer writer{*folder, a, stop.token()};
  for (auto const& s : *shards) {
    auto const header = header_of(s);
    if (bytes{header.size()} > header_limits{}.header)
      return error{error_kind::usage, "--shards: expected headers of at most " +
                                          std::to_string(header_limits{}.header.count) + " bytes, found " +
                                          std::to_string(header.size()) + "; choose more files"};
    headers += bytes{header.size()};
    if (auto r = writer.write(s, header); !r) return r;
  }
  auto const add = [&](char const* name, std::string const& text) -> result<void> {
    auto f = folder->add(name);
    if (!f) return std::move(f).error();
    (*f)->write_line(text);
    return (*f)->close();
  };
  if (shards->size() > 1)
    if (auto r = add("model.safetensors.index.json", index_of(*shards)); !r) return r;
  if (auto r = add("config.json", *config); !r) return r;  // last: without it there is no model
  if (auto r = folder->commit(); !r) return r;
  std::printf("%s: %zu tensors, %s, %zu files\n", a.directory.c_str(), count, for_people(data).c_str(), shards->size());
  return {};
}
