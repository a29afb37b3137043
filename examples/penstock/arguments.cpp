#include "arguments.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

using namespace penstock;

namespace {
error usage(std::string message) { return error{error_kind::usage, std::move(message)}; }

std::optional<unsigned> number(std::string_view text) {
  unsigned n = 0;
  auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return n;
}

/// "10,11,9"; an empty text has none. Nothing where it is something else.
std::optional<std::vector<u32>> numbers_of(std::string_view text) {
  std::vector<u32> all;
  while (!text.empty()) {
    auto const comma = std::min(text.find(','), text.size());
    auto const n = number(text.substr(0, comma));
    if (!n || comma + 1 == text.size()) return std::nullopt;
    all.push_back(*n);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return all;
}

/// Rank and size as mpirun, srun or torchrun give them to each process they start.
struct launched {
  unsigned rank, size;
  char const* by;
};
std::optional<launched> launcher() {
  struct names {
    char const *rank, *size;
  };
  for (names n : {names{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, names{"PMI_RANK", "PMI_SIZE"},
                  names{"SLURM_PROCID", "SLURM_NTASKS"}, names{"RANK", "WORLD_SIZE"}}) {
    char const *r = std::getenv(n.rank), *s = std::getenv(n.size);
    if (!r || !s) continue;
    auto const rank = number(r), size = number(s);
    if (rank && size) return launched{*rank, *size, n.rank};
  }
  return std::nullopt;
}
}  // namespace

result<bytes> parse_bytes(std::string const& option, std::string const& text) {
  struct unit {
    std::string_view name;
    u64 factor;
  };
  constexpr unit units[] = {{"", 1},
                            {"B", 1},
                            {"KiB", 1ull << 10},
                            {"MiB", 1ull << 20},
                            {"GiB", 1ull << 30},
                            {"TiB", 1ull << 40},
                            {"KB", 1000},
                            {"MB", 1000000},
                            {"GB", 1000000000},
                            {"TB", 1000000000000}};
  u64 n = 0;
  auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
  std::string_view const rest{end, static_cast<std::size_t>(text.data() + text.size() - end)};
  if (failed == std::errc{})
    for (auto const& u : units)
      if (rest == u.name)
        if (u64 all = 0; !__builtin_mul_overflow(n, u.factor, &all)) return bytes{all};
  return usage(option + ": expected a size such as 4MiB, 8GiB or a number of bytes, found \"" + text + "\"");
}

result<std::vector<topology>> ranks_of(arguments const& a) {
  if (!a.tp || !a.ep || !a.pp || a.tp > 4096 || a.pp > 4096)
    return usage("--tp, --ep and --pp: expected numbers from 1 to 4096, found " + std::to_string(a.tp) + ", " +
                 std::to_string(a.ep) + " and " + std::to_string(a.pp));
  topology all;
  all.tp = a.tp, all.ep = a.ep, all.pp = a.pp;
  if (auto stages = numbers_of(a.stages); !stages)
    return usage("--stages: expected numbers of layers such as 10,11,9, found \"" + a.stages + "\"");
  else all.stage_layers = *std::move(stages);
  std::vector<std::pair<std::size_t, u32>> sizes;
  for (auto const& text : a.groups) {
    constexpr std::string_view names[] = {"attention", "dense", "experts", "vocab", "vision"};
    auto const equals = text.find('=');
    auto const name = std::find(std::begin(names), std::end(names), text.substr(0, equals));
    auto const size = number(equals == text.npos ? "" : std::string_view{text}.substr(equals + 1));
    if (name == std::end(names) || !size || !*size)
      return usage(
          "--group: expected attention, dense, experts, vocab or vision and a size, such as vision=1, found \"" + text +
          "\"");
    sizes.emplace_back(name - std::begin(names), *size);
  }
  if (!a.experts_file.empty()) {
    auto tables = read_expert_tables(a.experts_file);
    if (!tables) return std::move(tables).error();
    all.experts = *std::move(tables);
  }
  unsigned first = 0, end = all.ranks();
  if (a.rank.empty() || a.rank == "all") {
    if (auto const l = launcher(); l && a.rank.empty()) {
      if (l->size != all.ranks())
        return usage("expected " + std::to_string(all.ranks()) + " processes for tp " + std::to_string(a.tp) +
                     " x pp " + std::to_string(a.pp) + ", found " + std::to_string(l->size) + " by " + l->by +
                     "; correct --tp and --pp, or say --rank all");
      first = l->rank, end = first + 1;
    }
  } else {
    auto const r = number(a.rank);
    if (!r || *r >= all.ranks())
      return usage("--rank: expected \"all\" or a number below " + std::to_string(all.ranks()) + ", found \"" + a.rank +
                   "\"");
    first = *r, end = first + 1;
  }
  std::vector<topology> ranks;
  for (all.rank = first; all.rank < end; ++all.rank) {
    for (auto const& [group, size] : sizes) all.groups[group] = group_place{size, all.rank % a.tp % size};
    ranks.push_back(all);
  }
  return ranks;
}

result<void> check_parts(arguments const& a) {
  auto one_of = [](std::string const& option, std::string const& found,
                   std::initializer_list<std::string_view> known) -> result<void> {
    std::string names;
    for (auto k : known) {
      if (k == found) return {};
      names += (names.empty() ? "" : ", ") + std::string{k};
    }
    return usage(option + ": expected one of " + names + " (what this build has), found \"" + found + "\"");
  };
  if (auto r = one_of("--device", a.device, {"host"}); !r) return r;
  if (auto r = one_of("--exchange", a.exchange, {"independent"}); !r) return r;
  if (auto r = one_of("--ownership", a.ownership, {"place", "own", "borrow"}); !r) return r;
  return {};
}
