#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "leat/pipeline/state/detail/origin.hpp"

namespace LEAT::detail {

/// The input elements that a stage needs again, by origin, and the slots that request them.
///
/// Slots have numbers of 32 bits, since a state has a byte or more for each slot in a field whose
/// length has 32 bits.
class replay_requests {
 public:
  /// Requests the elements of all slots. `held` must not change meanwhile. Errors: std::bad_alloc.
  explicit replay_requests(std::span<const origin> held);

  [[nodiscard]] bool empty() const noexcept { return slots_.empty(); }

  /// Returns the records of which the elements are made, in order, each once. Errors:
  /// std::bad_alloc.
  [[nodiscard]] std::vector<origin> records() const;

  /// Finds the requests for an element of this origin, first and last. Elements mostly arrive in
  /// order, so the next request is checked first.
  struct range {
    std::size_t first;
    std::size_t last;
  };
  [[nodiscard]] range find_requesters(const origin& what) noexcept;

  /// Returns true if request i has not been delivered.
  [[nodiscard]] bool wants(std::size_t i) const noexcept { return !delivered_[i]; }
  /// Marks request i as delivered and returns its slot.
  [[nodiscard]] std::size_t give(std::size_t i) noexcept {
    delivered_[i] = true;
    return slots_[i];
  }

  /// Returns the slot of a request some steps after the i-th, to prefetch it.
  [[nodiscard]] std::size_t slot_ahead(std::size_t i) const noexcept {
    return slots_[std::min(i + far, slots_.size() - 1)];
  }

  /// Removes the requests that were delivered.
  void drop_delivered() noexcept;

 private:
  static constexpr std::size_t far = 8;

  [[nodiscard]] const origin& what(std::size_t i) const noexcept { return held_[slots_[i]]; }

  std::span<const origin> held_;
  std::vector<std::uint32_t> slots_;  // sorted by origin
  std::vector<bool> delivered_;       // for each of these
  std::size_t next_ = 0;              // index after the last request found
};

}  // namespace LEAT::detail
