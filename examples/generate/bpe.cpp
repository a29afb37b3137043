#include "bpe.hpp"

#include <cstddef>
#include <queue>
#include <tuple>

namespace generate {
namespace {
constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

/// One token of the piece; a joined one keeps its left place and drops the right one out of the chain.
struct link {
  token_id id;
  std::size_t before, after;
  bool alive = true;
};

/// A pair that could be joined; it is stale when one of its two tokens has changed since.
struct candidate {
  std::uint32_t rank;
  std::size_t at;
  token_id left, right, joined;
  friend bool operator<(candidate const& a, candidate const& b) {  // the queue's top is the least rank, leftmost first
    return std::tie(a.rank, a.at) > std::tie(b.rank, b.at);
  }
};
}  // namespace

void byte_pairs::encode(std::string_view piece, std::vector<token_id>& out) const {
  std::vector<link> chain;
  chain.reserve(piece.size());
  for (char const c : piece) {
    auto const id = bytes_[static_cast<unsigned char>(c)];
    if (!id) continue;
    auto const here = chain.size();
    chain.push_back({*id, here == 0 ? nowhere : here - 1, here + 1});
  }
  if (chain.empty()) return;
  chain.back().after = nowhere;

  std::priority_queue<candidate> queue;
  auto const consider = [&](std::size_t at) {
    if (at == nowhere || chain[at].after == nowhere) return;
    auto const left = chain[at].id, right = chain[chain[at].after].id;
    auto const found = merges_.find(key(left, right));
    if (found != merges_.end()) queue.push({found->second.rank, at, left, right, found->second.joined});
  };
  for (std::size_t i = 0; i < chain.size(); ++i) consider(i);

  while (!queue.empty()) {
    auto const best = queue.top();
    queue.pop();
    auto& left = chain[best.at];
    if (!left.alive || left.id != best.left || left.after == nowhere) continue;
    auto& right = chain[left.after];
    if (right.id != best.right) continue;
    left.id = best.joined;
    right.alive = false;
    left.after = right.after;
    if (left.after != nowhere) chain[left.after].before = best.at;
    consider(left.before);
    consider(best.at);
  }
  for (auto const& token : chain)
    if (token.alive) out.push_back(token.id);
}
}  // namespace generate
