#pragma once
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <penstock/core/progress.hpp>
#include <penstock/format/ignore_list.hpp>
#include <penstock/format/index.hpp>
#include <penstock/format/rank_files.hpp>
#include <penstock/format/safetensors.hpp>
#include <penstock/format/weight_files.hpp>
#include <penstock/model/cache.hpp>
#include <penstock/model/choose.hpp>
#include <penstock/model/model.hpp>
#include <penstock/storage/any_of.hpp>
#include <penstock/storage/name.hpp>
#include <penstock/storage/read_ranges.hpp>

PENSTOCK_BEGIN
/// How a model is opened.
struct open_options {
  /// The folder that holds copies of config and tokenizer files of remote models. Empty: $PENSTOCK_CACHE, else
  /// $XDG_CACHE_HOME/penstock, else $HOME/.cache/penstock.
  std::string cache{};
  /// Of checkpoints that an engine saved rank by rank, the names of their files, as
  /// `model-rank-{rank}-part-{part}.safetensors`; see `rank_files`. Each rank takes its own, as stored.
  std::string rank_files{};
  header_limits headers{};
  observer watch{};  ///< only notices: what was left out
  /// A request ends the opening within 100 ms, save while a name is resolved or a disk is waited for.
  std::stop_token stop{};
};

namespace detail {
/// One `open`: the steps share the store, the root and the options.
template <storage_backend S>
class model_opener {
 public:
  using object = typename S::object;

  model_opener(S& store, uri const& given, open_options const& how) : store_(store), given_(given), how_(how) {}

  result<model<S>> run() {
    if (auto done = look(); !done) return std::move(done).error();
    if (auto done = choose(); !done) return std::move(done).error();
    if (auto done = pin_and_read(); !done) return std::move(done).error();
    auto snapshot = make_snapshot();
    if (!snapshot) return std::move(snapshot).error();
    auto config = read_config(*snapshot);
    if (!config) return std::move(config).error();
    if (auto const* declared = config->quantization()) tell_unread(*declared);
    return model<S>{given_, std::move(weights_), std::move(objects_), *std::move(config), *std::move(snapshot)};
  }

  result<local_snapshot> snapshot() {
    if (auto done = look(); !done) return std::move(done).error();
    return make_snapshot();
  }

 private:
  /// Finds the root and what is below it.
  result<void> look() {
    auto place = place_of(given_);
    if (!place) return std::move(place).error();
    auto directory = directory_of(store_, given_);
    if (!directory) return std::move(directory).error();
    std::error_code ignored;
    if (!place->only.empty() && *directory && std::filesystem::is_directory(**directory, ignored))
      place->only.clear(), place->root = given_;  // a folder of that name
    root_ = std::move(place->root);
    only_ = std::move(place->only);
    shown_ = root_->shown();
    while (shown_.size() > 1 && shown_.back() == '/' && !shown_.ends_with("://")) shown_.pop_back();
    weights_.uri = given_.shown();
    directory = directory_of(store_, *root_);
    if (!directory) return std::move(directory).error();
    directory_ = *std::move(directory);
    if (directory_ && !only_.empty()) return {};  // nothing else is looked at

    auto listed = list_objects(store_, *root_, how_.stop);
    if (!listed) {
      // The credential for one file need not allow to list its folder.
      if (only_.empty() || listed.error().kind() != error_kind::access) return std::move(listed).error();
      how_.watch.notice(shown_ + " may not be listed: only the file of weights is used");
      return {};
    }
    listed_ = *std::move(listed);
    std::sort(listed_.begin(), listed_.end(), [](auto const& a, auto const& b) { return a.name < b.name; });
    return {};
  }

  /// Decides which files are weights.
  result<void> choose() {
    std::vector<std::string> names;
    for (auto const& f : listed_) names.push_back(f.name);
    if (!how_.rank_files.empty()) return choose_by_rank(names);
    if (!only_.empty()) return files_.push_back(only_), result<void>{};
    auto const index_name = index_of_folder(names, shown_);
    if (!index_name) return index_name.error();
    if (!index_name->empty()) {
      auto text = small_file(*index_name, shard_index::most);
      if (!text) return std::move(text).error();
      auto parsed = shard_index::parse(std::as_bytes(std::span{*text}), path_of(*index_name));
      if (!parsed) return placed(std::move(parsed).error(), *index_name);
      index_.emplace(*std::move(parsed));
    }
    auto chosen = weight_files(names, index_ ? &*index_ : nullptr);
    if (!chosen) {
      auto const& why = chosen.error();
      bool const nothing = !index_ && why.kind() == error_kind::not_found;
      return error{
          why.kind(),
          shown_ + ": " + why.message() + (nothing ? "; there is " + (names.empty() ? "nothing" : some_of(names)) : ""),
          {.uri = shown_}};
    }
    files_ = *std::move(chosen);
    tell("not read: ", " is no part of this model", names, [&](std::string const& name) {
      bool const weights = name.ends_with(".safetensors") && name.find('/') == name.npos;
      return weights && std::find(files_.begin(), files_.end(), name) == files_.end();
    });
    return {};
  }
  result<void> choose_by_rank(std::vector<std::string> const& names) {
    auto of_ranks = rank_files(names, how_.rank_files);
    if (!of_ranks) return placed(std::move(of_ranks).error(), {});
    for (auto& f : *of_ranks) files_.push_back(std::move(f.name)), ranks_.push_back(f.rank);
    return {};
  }
  /// A notice of those names that `which` picks.
  template <class Which>
  void tell(std::string_view before, std::string_view after, std::vector<std::string> const& names, Which&& which) {
    std::vector<std::string> picked;
    std::copy_if(names.begin(), names.end(), std::back_inserter(picked), which);
    if (!picked.empty()) how_.watch.notice(std::string{before} + some_of(picked) + std::string{after});
  }
  /// What a declared quantisation says and nobody reads.
  void tell_unread(quant_declaration const& d) {
    tell("not read in " + d.where + ": ", "", d.unread, [](auto const&) { return true; });
    auto const unused = ignored_nothing(d, weights_.tensors);
    tell("left unquantised by " + d.where + ", but no tensor is of such a module: ", "", unused,
         [](auto const&) { return true; });
  }

  result<void> pin_and_read() {
    auto pinned = pin_objects(store_, *root_, files_, how_.stop);
    if (!pinned) return std::move(pinned).error();
    objects_ = std::make_shared<std::vector<object> const>(*std::move(pinned));
    for (std::size_t i = 0; i < files_.size(); ++i)
      weights_.shards.push_back({files_[i], (*objects_)[i].size(), (*objects_)[i].version(),
                                 ranks_.empty() ? std::nullopt : std::optional{ranks_[i]}});
    auto headers = read_headers();
    if (!headers) return std::move(headers).error();
    auto collected = collect_tensors(weights_, *std::move(headers), index_ ? &*index_ : nullptr);
    if (!collected) return placed(std::move(collected).error(), {});
    if (auto const n = weights_.ignored)
      how_.watch.notice(std::to_string(n) + (n == 1 ? " tensor" : " tensors") +
                        " ignored: in the shards, but given by the index to another file or to none");
    return {};
  }

  /// First the beginning of each file, then the headers that are longer than that.
  result<std::vector<shard_header>> read_headers() {
    auto const count = files_.size();
    std::vector<shard_header> headers(count);
    std::vector<wanted_range> ranges(count), longer;
    // Where a request costs a round trip, the guess is large enough for most headers.
    bytes const guess = traits_of(store_).gap < kibibytes(64) ? bytes{8} : kibibytes(64);
    for (std::size_t i = 0; i < count; ++i) ranges[i] = {i, {bytes{}, std::min(guess, weights_.shards[i].size)}};

    auto const parse = [&](std::size_t i, std::span<std::byte const> json) -> result<void> {
      auto const id = object_id{static_cast<u32>(i)};
      auto parsed = parse_header(json, weights_.shards[i].size, id, path_of(files_[i]), how_.headers);
      if (!parsed) return placed(std::move(parsed).error(), files_[i]);
      headers[i] = *std::move(parsed);
      return {};
    };
    auto const begin = [&](std::size_t i, std::span<std::byte const> first) -> result<void> {
      auto const length = header_length(first.first(std::min<std::size_t>(first.size(), 8)), weights_.shards[i].size,
                                        path_of(files_[i]), how_.headers);
      if (!length) return placed(length.error(), files_[i]);
      if (length->count <= first.size() - 8) return parse(i, first.subspan(8, static_cast<std::size_t>(length->count)));
      longer.push_back({i, {bytes{8}, *length}});
      return {};
    };
    read_ranges_options const options{.stop = how_.stop};
    if (auto done = read_ranges(store_, *objects_, ranges, begin, options); !done) return std::move(done).error();
    auto const rest = [&](std::size_t k, std::span<std::byte const> json) { return parse(longer[k].object, json); };
    if (auto done = read_ranges(store_, *objects_, longer, rest, options); !done) return std::move(done).error();
    return headers;
  }

  /// The folder itself, or a copy of what is below the root.
  result<local_snapshot> make_snapshot() {
    if (directory_) {
      std::error_code failed;
      auto folder = std::filesystem::absolute(*directory_, failed);
      if (failed) return cannot(failed.value(), "use the folder", *directory_, "name it by an absolute path");
      return snapshot_maker::of(std::move(folder));
    }
    auto names = metadata();
    if (!names) return std::move(names).error();
    auto pinned = pin_objects(store_, *root_, *names, how_.stop);
    if (!pinned) return std::move(pinned).error();
    std::vector<snapshot_file> files;
    for (std::size_t i = 0; i < names->size(); ++i)
      files.push_back({std::move((*names)[i]), (*pinned)[i].size(), (*pinned)[i].version()});
    auto cache = cache_folder(how_.cache);
    if (!cache) return std::move(cache).error();
    auto copy = cached_snapshot::open(*cache, shown_, std::move(files), how_.watch, how_.stop);
    if (!copy) return std::move(copy).error();
    if (!copy->complete())
      if (auto done = fetch(*copy, *pinned); !done) return std::move(done).error();
    return snapshot_maker::of(copy->directory());
  }

  result<std::vector<std::string>> metadata() const {
    constexpr std::size_t most_files = 4096;
    std::vector<std::string> names;
    for (auto const& f : listed_) {
      if (!is_metadata(f.name)) continue;
      if (auto const fault = fault_of_name(f.name); !fault.empty())
        return error{error_kind::config,
                     "expected names below " + shown_ + " that can be files, found " + shown_name(f.name) + ": " +
                         std::string{fault} + "; remove or rename it",
                     {.uri = shown_}};
      if (f.size > largest_metadata)
        how_.watch.notice(path_of(f.name) + " is no config or tokenizer file by its size, " +
                          std::to_string(f.size.count) + " bytes: not fetched");
      else names.push_back(f.name);
    }
    if (names.size() > most_files)
      return error{error_kind::usage,
                   shown_ + " holds " + std::to_string(names.size()) + " files beside weights, and " +
                       std::to_string(most_files) + " are the most; name the folder of one model",
                   {.uri = shown_}};
    return names;
  }

  result<void> fetch(cached_snapshot& copy, std::vector<object> const& objects) {
    bytes const block = mebibytes(1);
    std::vector<wanted_range> ranges;
    for (std::size_t i = 0; i < objects.size(); ++i)
      for (bytes first; first < objects[i].size(); first += block)
        ranges.push_back({i, {first, std::min(block, objects[i].size() - first)}});
    auto const write = [&](std::size_t k, std::span<std::byte const> content) {
      return copy.write(ranges[k].object, ranges[k].range.first, content);
    };
    if (auto done = read_ranges(store_, objects, ranges, write, {.stop = how_.stop}); !done) return done;
    return copy.commit();
  }

  result<std::string> small_file(std::string const& name, bytes most) {
    auto pinned = pin_objects(store_, *root_, {&name, 1}, how_.stop);
    if (!pinned) return std::move(pinned).error();
    auto const size = pinned->front().size();
    if (size > most)
      return error{error_kind::config,
                   path_of(name) + " has " + std::to_string(size.count) + " bytes, and " + std::to_string(most.count) +
                       " are the most; put the right file in its place",
                   {.uri = path_of(name)}};
    return read_whole(store_, pinned->front(), {.stop = how_.stop});
  }

  std::string path_of(std::string const& name) const {
    return shown_ + (shown_.ends_with('/') ? "" : "/") + shown_name(name);
  }
  /// An error that knows where it happened.
  error placed(error e, std::string const& name) const {
    if (e.where().uri.empty()) e.where().uri = name.empty() ? shown_ : path_of(name);
    return e;
  }

  S& store_;
  uri const& given_;
  open_options const& how_;
  std::optional<uri> root_;
  std::string only_, shown_;
  std::optional<std::string> directory_;
  std::vector<stored_object> listed_;
  std::optional<shard_index> index_;
  std::vector<std::string> files_;
  std::vector<u32> ranks_;  // of the files, where each rank has its own
  checkpoint weights_;
  std::shared_ptr<std::vector<object> const> objects_;
};
}  // namespace detail

/// Opens a model: decides which files are its weights, pins them, reads their headers, and brings config, tokenizer and
/// processor files into a folder. Reads no tensor.
///
/// Weights are what the index names; without one, see `weight_files`. A URI that ends in `.safetensors` means that file.
/// An error while opening leaves nothing behind.
///
/// @param store  used until the call returns; a load needs it again
/// @errors  usage, not_found, access, transient, changed, format, config, memory, io, cancelled: nothing is half-opened
/// @blocks  on the store, and while another process fetches the same files
/// @threads one at a time for each store
/// @cost    the headers, twice the largest of them in memory; remote: the files of the snapshot, once
template <storage_backend S>
result<model<S>> open_model(S& store, uri const& given, open_options const& how = {}) {
  return detail::model_opener<S>{store, given, how}.run();
}

/// Brings config, tokenizer and processor files into a folder, as open_model does; looks at no weights, and needs none.
///
/// @errors as open_model
template <storage_backend S>
result<local_snapshot> open_snapshot(S& store, uri const& given, open_options const& how = {}) {
  return detail::model_opener<S>{store, given, how}.snapshot();
}
PENSTOCK_END
