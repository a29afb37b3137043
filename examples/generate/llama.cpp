#include "llama.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace generate {
namespace {
float widen(bf16 value) { return std::bit_cast<float>(std::uint32_t{value} << 16); }

/// Sixteen sums side by side: independent, so that the compiler may keep them in vector registers.
float dot(bf16 const* w, float const* x, std::size_t n) {
  constexpr std::size_t lanes = 16;
  std::array<float, lanes> sums{};
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += widen(w[i + lane]) * x[i + lane];
  float sum = 0;
  for (; i < n; ++i) sum += widen(w[i]) * x[i];
  for (auto const s : sums) sum += s;
  return sum;
}

void multiply(std::span<bf16 const> weight, std::span<float const> x, std::span<float> y) {
  for (std::size_t row = 0; row < y.size(); ++row) y[row] = dot(weight.data() + row * x.size(), x.data(), x.size());
}

void add(std::span<float> x, std::span<bf16 const> bias) {
  for (std::size_t i = 0; i < bias.size(); ++i) x[i] += widen(bias[i]);
}

void rms_norm(std::span<float const> x, std::span<bf16 const> weight, float eps, std::span<float> out) {
  float squares = 0;
  for (auto const v : x) squares += v * v;
  auto const scale = 1 / std::sqrt(squares / static_cast<float>(x.size()) + eps);
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = x[i] * scale * widen(weight[i]);
}

void softmax(std::span<float> x) {
  auto const most = *std::max_element(x.begin(), x.end());
  float sum = 0;
  for (auto& v : x) sum += v = std::exp(v - most);
  for (auto& v : x) v /= sum;
}

std::size_t divide(std::size_t size, std::size_t ranks, char const* what) {
  if (size % ranks != 0)
    throw std::runtime_error{std::to_string(size) + " " + what + " do not divide into " + std::to_string(ranks) +
                             " ranks: choose another --tp"};
  return size / ranks;
}
}  // namespace

rank_weights find_weights(llama_config const& config, std::size_t ranks, find_parameter const& find) {
  constexpr std::size_t vocab_unit = 64;  // vocabularies are padded to a multiple of it
  auto const padded = (config.vocab + vocab_unit - 1) / vocab_unit * vocab_unit;
  rank_weights w;
  w.heads = divide(config.heads, ranks, "heads");
  // with more ranks than heads of keys and values, several ranks hold the same one
  w.kv_heads = ranks > config.kv_heads ? 1 : divide(config.kv_heads, ranks, "key and value heads");
  w.intermediate = divide(config.intermediate, ranks, "rows of the MLP");
  w.vocab = divide(padded, ranks, "rows of vocabulary");

  auto const vector = [&](std::string const& name, std::size_t size) {
    auto const values = find(name);
    if (values.size() != size)
      throw std::runtime_error{name + ": expected " + std::to_string(size) + " values, found " +
                               std::to_string(values.size())};
    return values;
  };
  auto const linear_of = [&](std::string const& name, std::size_t out, std::size_t in) {
    linear l{vector(name + ".weight", out * in), find(name + ".bias")};
    if (!l.bias.empty()) l.bias = vector(name + ".bias", out);
    return l;
  };
  w.embedding = vector("model.embed_tokens.weight", w.vocab * config.hidden);
  w.norm = vector("model.norm.weight", config.hidden);
  w.head = config.tied_head ? w.embedding : vector("lm_head.weight", w.vocab * config.hidden);
  auto const queries = w.heads * config.head_dim, keys = w.kv_heads * config.head_dim;
  for (std::size_t n = 0; n < config.layers; ++n) {
    auto const layer = "model.layers." + std::to_string(n) + ".";
    w.layers.push_back({vector(layer + "input_layernorm.weight", config.hidden),
                        vector(layer + "post_attention_layernorm.weight", config.hidden),
                        linear_of(layer + "self_attn.qkv_proj", queries + 2 * keys, config.hidden),
                        linear_of(layer + "self_attn.o_proj", config.hidden, queries),
                        linear_of(layer + "mlp.gate_up_proj", 2 * w.intermediate, config.hidden),
                        linear_of(layer + "mlp.down_proj", config.hidden, w.intermediate)});
  }
  return w;
}

llama_rank::llama_rank(llama_config const& config, rank_weights weights, rank_group& group, std::size_t rank,
                       std::size_t positions)
    : config_(config), weights_(std::move(weights)), group_(group), rank_(rank), positions_(positions) {
  auto const queries = weights_.heads * config_.head_dim, keys = weights_.kv_heads * config_.head_dim;
  auto const pairs = config_.head_dim / 2;
  keys_.resize(config_.layers * positions * keys);
  values_.resize(keys_.size());
  for (std::size_t i = 0; i < pairs; ++i)
    rope_.push_back(1 / std::pow(config_.rope_theta, static_cast<float>(2 * i) / static_cast<float>(config_.head_dim)));
  cosine_.resize(pairs);
  sine_.resize(pairs);
  for (auto* v : {&x_, &normed_, &delta_}) v->resize(config_.hidden);
  qkv_.resize(queries + 2 * keys);
  attended_.resize(queries);
  scores_.resize(positions);
  gate_up_.resize(2 * weights_.intermediate);
}

void llama_rank::take(token_id token) {
  for (std::size_t i = 0; i < rope_.size(); ++i) {
    auto const angle = static_cast<float>(position_) * rope_[i];
    cosine_[i] = std::cos(angle);
    sine_[i] = std::sin(angle);
  }
  embed(token);
  for (std::size_t layer = 0; layer < config_.layers; ++layer) {
    attend(layer);
    transform(layer);
  }
  ++position_;
}

/// The rank that holds the token's row gives it, the others give zeros.
void llama_rank::embed(token_id token) {
  auto const first = rank_ * weights_.vocab;
  std::fill(x_.begin(), x_.end(), 0.0F);
  if (token >= first && token < first + weights_.vocab)
    add(x_, weights_.embedding.subspan((token - first) * config_.hidden, config_.hidden));
  group_.sum(rank_, x_);
}

/// Turns each pair (i, i + half) of each head by this position's angle.
void llama_rank::rotate(std::span<float> heads) const {
  auto const half = config_.head_dim / 2;
  for (std::size_t head = 0; head < heads.size(); head += config_.head_dim)
    for (std::size_t i = head; i < head + half; ++i) {
      auto const a = heads[i], b = heads[i + half], c = cosine_[i - head], s = sine_[i - head];
      heads[i] = a * c - b * s;
      heads[i + half] = b * c + a * s;
    }
}

void llama_rank::attend(std::size_t layer) {
  auto const& w = weights_.layers[layer];
  auto const dim = config_.head_dim, queries = weights_.heads * dim, width = weights_.kv_heads * dim;
  rms_norm(x_, w.attention_norm, config_.rms_norm_eps, normed_);
  multiply(w.qkv.weight, normed_, qkv_);
  add(qkv_, w.qkv.bias);
  std::span<float> const qkv{qkv_};
  rotate(qkv.first(queries + width));  // queries and keys

  // this layer's part of the cache, a row for each position
  auto* const keys = keys_.data() + layer * positions_ * width;
  auto* const values = values_.data() + layer * positions_ * width;
  std::copy_n(qkv_.begin() + static_cast<std::ptrdiff_t>(queries), width, keys + position_ * width);
  std::copy_n(qkv_.begin() + static_cast<std::ptrdiff_t>(queries + width), width, values + position_ * width);

  auto const scale = 1 / std::sqrt(static_cast<float>(dim));
  std::span<float> const scores{scores_.data(), position_ + 1};
  std::fill(attended_.begin(), attended_.end(), 0.0F);
  for (std::size_t head = 0; head < weights_.heads; ++head) {
    auto const from = head / (weights_.heads / weights_.kv_heads) * dim;  // the keys and values that this head shares
    auto const query = qkv.subspan(head * dim, dim);
    for (std::size_t p = 0; p < scores.size(); ++p) {
      float sum = 0;
      for (std::size_t i = 0; i < dim; ++i) sum += query[i] * keys[p * width + from + i];
      scores[p] = sum * scale;
    }
    softmax(scores);
    for (std::size_t p = 0; p < scores.size(); ++p)
      for (std::size_t i = 0; i < dim; ++i) attended_[head * dim + i] += scores[p] * values[p * width + from + i];
  }

  multiply(w.o.weight, attended_, delta_);
  group_.sum(rank_, delta_);
  add(delta_, w.o.bias);  // whole on every rank, so added once, behind the sum
  for (std::size_t i = 0; i < x_.size(); ++i) x_[i] += delta_[i];
}

void llama_rank::transform(std::size_t layer) {
  auto const& w = weights_.layers[layer];
  rms_norm(x_, w.mlp_norm, config_.rms_norm_eps, normed_);
  multiply(w.gate_up.weight, normed_, gate_up_);
  add(gate_up_, w.gate_up.bias);
  auto const gate = std::span{gate_up_}.first(weights_.intermediate),
             up = std::span{gate_up_}.last(weights_.intermediate);
  for (std::size_t i = 0; i < gate.size(); ++i) gate[i] *= up[i] / (1 + std::exp(-gate[i]));  // silu(gate) * up

  multiply(w.down.weight, gate, delta_);
  group_.sum(rank_, delta_);
  add(delta_, w.down.bias);
  for (std::size_t i = 0; i < x_.size(); ++i) x_[i] += delta_[i];
}

token_id llama_rank::best_next() {
  rms_norm(x_, weights_.norm, config_.rms_norm_eps, normed_);
  auto const first = rank_ * weights_.vocab;
  rank_group::candidate mine{-std::numeric_limits<float>::infinity(), config_.vocab};
  for (std::size_t row = 0; row < weights_.vocab && first + row < config_.vocab; ++row) {  // rows behind are padding
    auto const score = dot(weights_.head.data() + row * config_.hidden, normed_.data(), config_.hidden);
    if (score > mine.score) mine = {score, first + row};
  }
  return static_cast<token_id>(group_.best(rank_, mine).token);
}
}  // namespace generate
