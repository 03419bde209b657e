#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <leat/leat.hpp>

#include "features.hpp"

/// Logistic regression over hashed features, trained by stochastic gradient descent.
class model {
 public:
  model() : weights_(sample::feature_space, 0.0F) {}

  /// One step on a batch; gives its mean loss before the step.
  double train(std::span<const sample> batch);

  /// The probability that the line is C++.
  [[nodiscard]] double predict(const sample& s) const;

  /// Has its weights saved with `state`.
  void add_to(leat::checkpoint_registry& state);
  /// Of its weights, to compare two models.
  [[nodiscard]] std::uint32_t checksum() const;

 private:
  [[nodiscard]] double score(const sample& s) const;

  std::vector<float> weights_;
  float bias_ = 0;
};
