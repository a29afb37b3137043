#pragma once
#include <optional>
#include <string>
#include <vector>

#include <penstock/core/bytes.hpp>
#include <penstock/core/result.hpp>
#include <penstock/core/topology.hpp>

/// What the command line says. One struct for all subcommands; each uses its part.
struct arguments {
  std::string uri;
  std::string directory;  ///< of fetch and synth

  std::string arch;   ///< empty: by config.json
  std::string draft;  ///< empty: none
  std::string quant;  ///< empty: by config.json
  unsigned tp = 1, ep = 1, pp = 1;
  std::string rank_files;           ///< of each rank, where it has its own
  std::string stages;               ///< layers of each pipeline stage, separated by commas; empty: equal
  std::vector<std::string> groups;  ///< "vision=2": ranks of a group
  std::string experts_file;         ///< of plan and load: where experts lie
  std::string rank;                 ///< a number, "all", or empty: all, or what the launcher says
  std::string device = "host";
  std::string ownership = "place";
  std::string exchange = "independent";
  std::string memory_limit = "512MiB";
  std::string slot;                                      ///< empty: chosen to fit
  std::string json, digest, digest_after, reads, trace;  ///< files; "-" is standard output
  std::string dump;                                      ///< a folder
  bool progress = false;
  bool check = false;

  std::string model;                                ///< of synth: a preset
  std::optional<unsigned> layers, experts, shards;  ///< none: as in the preset, and as many as suit it
  double scale = 1;
  penstock::u64 seed = 0;
  bool sparse = false, shuffle = false;
};

/// "64MiB", "2GB", "4096": KiB, MiB, GiB, TiB are powers of 1024, KB, MB, GB, TB of 1000. @errors usage
penstock::result<penstock::bytes> parse_bytes(std::string const& option, std::string const& text);

/// The tables in a JSON file: `{"3": [[0, 1, 2], [3, 0]], "all": ...}` has for a layer, or for all that have no entry, the
/// experts in the slots of each block of ranks. @errors usage, not_found, io
penstock::result<std::vector<penstock::expert_table>> read_expert_tables(std::string const& path);

/// The ranks that this process runs, each with its topology. @errors usage, plan
penstock::result<std::vector<penstock::topology>> ranks_of(arguments const& a);

/// Refuses what this build has no part for: another device, exchange or scheme. @errors usage
penstock::result<void> check_parts(arguments const& a);
