#include "model.hpp"

#include <algorithm>
#include <cmath>

namespace {

constexpr float learning_rate = 0.15F;

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

}  // namespace

double model::score(const sample& s) const {
  float sum = bias_;
  for (std::size_t i = 0; i < s.count; ++i) sum += weights_[s.features[i]];
  return static_cast<double>(sum);
}

double model::predict(const sample& s) const { return sigmoid(score(s)); }

double model::train(std::span<const sample> batch) {
  double loss = 0;
  for (const sample& s : batch) {
    const double p = predict(s);
    const double target = s.is_cpp ? 1.0 : 0.0;
    loss -= std::log(std::max(s.is_cpp ? p : 1 - p, 1e-9));
    const float step = learning_rate * static_cast<float>(target - p) /
                       std::sqrt(static_cast<float>(s.count) + 1.0F);
    for (std::size_t i = 0; i < s.count; ++i) weights_[s.features[i]] += step;
    bias_ += step;
  }
  return batch.empty() ? 0 : loss / static_cast<double>(batch.size());
}

void model::add_to(leat::checkpoint_registry& state) {
  state.add("weights", weights_);
  state.add("bias", bias_);
}

std::uint32_t model::checksum() const { return leat::crc32c(std::as_bytes(std::span(weights_))); }
