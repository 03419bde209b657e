#pragma once

#include <span>
#include <vector>

#include "features.hpp"

/// Logistic regression over hashed features, trained by stochastic gradient descent.
class model {
 public:
  model() : weights_(sample::feature_space, 0.0F) {}

  /// One step on a batch; gives its mean loss before the step.
  double train(std::span<const sample> batch);

  /// The probability that the line is C++.
  [[nodiscard]] double predict(const sample& s) const;

 private:
  [[nodiscard]] double score(const sample& s) const;

  std::vector<float> weights_;
  float bias_ = 0;
};
