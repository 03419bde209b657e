#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "leat/base/random.hpp"

namespace leat::sim {

/// What was decided at one point of a run.
struct decision {
  std::uint32_t options = 0;  ///< there were so many ways to go on
  std::uint32_t chosen = 0;   ///< index of the one that was taken; 0 is the plain one
  const char* about = "";     ///< what was decided, a literal
  std::uint64_t step = 0;     ///< of the world
};

/// Decides everything that is up to chance in a simulated world, and remembers it.
///
/// Created from a seed, or from the decisions of another run: the same decisions make the same run.
/// Option 0 is always the plain one: the next in turn, no fault, no delay. A shrunk run therefore
/// shows only the decisions that make it fail.
///
/// Thread safety: thread-bound to the world's thread.
class decision_source {
 public:
  explicit decision_source(std::uint64_t seed) noexcept : random_(seed) {}

  /// Decides as `script` says, and plainly behind its end.
  explicit decision_source(std::vector<std::uint32_t> script) noexcept
      : random_(0), script_(std::move(script)), scripted_(true) {}

  /// One of `options` ways to go on, at least 1. Cost: a random number; what has one option is free
  /// and not remembered.
  std::uint32_t choose(std::size_t options, const char* about);

  /// True with the probability given; never decided where that is 0.
  bool chance(double probability, const char* about);

  /// What was decided so far.
  [[nodiscard]] const std::vector<decision>& made() const noexcept { return made_; }

  /// Sets the step of the world that later decisions record.
  void begin_step(std::uint64_t step) noexcept { step_ = step; }

 private:
  std::uint32_t record(std::uint32_t options, std::uint32_t chosen, const char* about);
  [[nodiscard]] std::uint32_t scripted() const noexcept {
    return made_.size() < script_.size() ? script_[made_.size()] : 0;
  }

  random_engine random_;
  std::vector<std::uint32_t> script_;
  bool scripted_ = false;
  std::vector<decision> made_;
  std::uint64_t step_ = 0;
};

}  // namespace leat::sim
