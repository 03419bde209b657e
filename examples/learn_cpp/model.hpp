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

  /// Makes one step per sample of a batch. Returns the mean of the losses before each step.
  double train(std::span<const sample> batch);

  /// Returns the probability that the line is C++.
  [[nodiscard]] double predict(const sample& s) const;

  /// Registers the weights with `state`, which saves and restores them.
  void add_to(leat::checkpoint_registry& state);
  /// Returns the CRC-32C of the weights, to compare two models.
  [[nodiscard]] std::uint32_t checksum() const;

 private:
  [[nodiscard]] double score(const sample& s) const;

  std::vector<float> weights_;
  float bias_ = 0;
};
