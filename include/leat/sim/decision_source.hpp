#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "leat/base/random.hpp"

namespace LEAT::sim {

/// The decision at one point of a run.
struct decision {
  std::uint32_t options = 0;  ///< the number of options
  std::uint32_t chosen = 0;   ///< index of the chosen option; 0 is the default
  const char* about = "";     ///< the subject, a string literal
  std::uint64_t step = 0;     ///< the step of the world
};

/// The source of all random decisions in a simulated world, which also records them.
///
/// It is created from a seed, or from the decisions of another run: the same decisions lead to the
/// same run. Option 0 is always the default: the next in turn, no fault, no delay. A shrunk run
/// therefore shows only the decisions that make it fail.
///
/// Thread safety: thread-bound to the world's thread.
class decision_source {
 public:
  explicit decision_source(std::uint64_t seed) noexcept : random_(seed) {}

  /// Creates a source that repeats the decisions of `script` and chooses option 0 after its end.
  explicit decision_source(std::vector<std::uint32_t> script) noexcept
      : random_(0), script_(std::move(script)), scripted_(true) {}

  /// Creates a source that makes its decisions in `source`, which must outlive it, and passes each
  /// to `observer`.
  decision_source(decision_source& source, std::function<void(const decision&)> observer)
      : random_(0), source_(&source), observer_(std::move(observer)) {}

  /// Returns the chosen option, from 0 to `options` - 1. `options` must be at least 1.
  ///
  /// Cost: a random number. A choice with one option is free and is not recorded.
  std::uint32_t choose(std::size_t options, const char* about);

  /// Returns true with the given probability. If it is 0, there is no decision.
  bool chance(double probability, const char* about);

  /// Returns the decisions so far.
  [[nodiscard]] const std::vector<decision>& made() const noexcept {
    return source_ ? source_->made() : made_;
  }

  /// Sets the step of the world that later decisions record.
  void begin_step(std::uint64_t step) noexcept { step_ = step; }

 private:
  std::uint32_t observe(std::uint32_t options, std::uint32_t chosen, const char* about);
  std::uint32_t record(std::uint32_t options, std::uint32_t chosen, const char* about);
  [[nodiscard]] std::uint32_t scripted() const noexcept {
    return made_.size() < script_.size() ? script_[made_.size()] : 0;
  }

  random_engine random_;
  std::vector<std::uint32_t> script_;
  bool scripted_ = false;
  std::vector<decision> made_;
  std::uint64_t step_ = 0;
  decision_source* source_ = nullptr;  // that makes the decisions; null: this one
  std::function<void(const decision&)> observer_;
};

}  // namespace LEAT::sim
