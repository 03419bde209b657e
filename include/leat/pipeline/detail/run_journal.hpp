#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace leat::detail {

/// Where a stage stood when it began each of its last runs, until nobody goes back to them.
template <class Place>
class run_journal {
 public:
  /// The next run begins.
  void begin(Place at) { places_.push_back(std::move(at)); }

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

  /// Nobody goes back to the runs before this one.
  void forget(std::uint64_t run) noexcept {
    for (; first_ < run && !places_.empty(); ++first_) places_.pop_front();
  }

 private:
  std::deque<Place> places_;
  std::uint64_t first_ = 0;  // of those that are known
};

}  // namespace leat::detail
