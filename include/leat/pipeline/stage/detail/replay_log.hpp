#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "leat/pipeline/element/detail/ring_buffer.hpp"
#include "leat/pipeline/state/detail/stage_state.hpp"

namespace leat::detail {

/// Where a stage stood when it began each of its last runs, until nobody goes back to them. A Place
/// may have the origins of what a run gave, and draws: their memory goes around, none is allocated
/// for a run.
template <class Place>
class run_journal {
 public:
  /// The next run begins.
  void begin(Place at) {
    Place& fresh = places_.push();
    const auto take_memory = [](auto& of, auto& from) {
      of.swap(from);
      of.clear();
    };
    if constexpr (requires { at.origins; }) take_memory(at.origins, fresh.origins);
    if constexpr (requires { at.draws_of_run; }) take_memory(at.draws_of_run, fresh.draws_of_run);
    fresh = std::move(at);
  }

  /// Nobody goes back behind the beginning of the run that began last.
  [[nodiscard]] bool has_one() const noexcept { return places_.size() == 1; }

  /// The run that began last.
  [[nodiscard]] Place& last() noexcept { return places_.back(); }

  /// Where the stage stood when that run began; null when it has not begun.
  /// Precondition: it was not forgotten.
  [[nodiscard]] const Place* find(std::uint64_t run) const noexcept {
    const auto i = static_cast<std::size_t>(run - first_);
    return i < places_.size() ? &places_[i] : nullptr;
  }
  [[nodiscard]] Place* find(std::uint64_t run) noexcept {
    const auto i = static_cast<std::size_t>(run - first_);
    return i < places_.size() ? &places_[i] : nullptr;
  }

  /// The origins of what a run gave, once for each run.
  void take_origins(std::uint64_t run, std::vector<origin>& all) noexcept {
    all.clear();
    all.swap(find(run)->origins);
  }

  /// Nobody goes back to the runs before this one.
  void forget(std::uint64_t run) noexcept {
    for (; first_ < run && !places_.empty(); ++first_) places_.pop();
  }

 private:
  growing_ring<Place> places_;
  std::uint64_t first_ = 0;  // of those that are known
};

}  // namespace leat::detail
