#pragma once

#include <string>
#include <utility>

#include "leat/sync/synchronizer.hpp"

namespace LEAT::detail {

/// The base of the primitives that are a number, whose operations have a short path: semaphore,
/// mutex, shared_mutex and event. Their lock is a state_lock.
class state_synchronizer : public synchronizer {
 protected:
  state_synchronizer(const char* type, order o, std::string name, state_lock::word number,
                     bool may_be_owned) noexcept
      : synchronizer(type, o, std::move(name), number, may_be_owned) {}
  ~state_synchronizer() override = default;

  using synchronizer::section;  ///< `const section lock(*this);`

  [[nodiscard]] state_lock& state() noexcept { return mutex_.state(); }
  [[nodiscard]] const state_lock& state() const noexcept { return mutex_.state(); }

  /// Returns true if a task waits, and not a select, a thread or a handler.
  [[nodiscard]] static bool is_task(const synchronizer_waiter& w) noexcept {
    return w.waits_in_task();
  }

  /// The common case of begin(): adds `w` to the wait queue if the number is less than `needed`.
  /// Returns false, without effect, in other cases. Makes no call, so that its caller saves no
  /// registers.
  template <bool may_be_owned>
  [[nodiscard, gnu::always_inline]] bool enqueue_quickly(
      synchronizer_waiter& w, state_lock::word needed) noexcept LEAT_NO_ANALYSIS {
    if (!registered_.load(std::memory_order_relaxed)) [[unlikely]]
      return false;
    if constexpr (may_be_owned) {
      if (!state().enter()) [[unlikely]]
        return false;
    } else {
      if (!state().enter_shared()) [[unlikely]]
        return false;
    }
    const state_lock::word seen = state().inside();
    if ((seen & state_lock::general) != 0 || seen / state_lock::one >= needed) [[unlikely]] {
      state().leave(seen);
      return false;
    }
    waiting_.push_back(w);
    state().leave(seen | state_lock::waiting);
    return true;
  }
};

}  // namespace LEAT::detail
