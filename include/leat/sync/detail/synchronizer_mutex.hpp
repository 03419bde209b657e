#pragma once

#include "leat/base/internal/biased_mutex.hpp"
#include "leat/base/internal/thread_annotations.hpp"
#include "leat/sync/detail/state_lock.hpp"

namespace LEAT::detail {

/// The lock of a primitive: a state_lock if its operations have a short path, otherwise only the
/// biased_mutex of that lock, which is cheaper for sections.
///
/// lock() returns how it was locked; pass this value to unlock().
class LEAT_CAPABILITY("mutex") synchronizer_mutex {
 public:
  /// Creates a biased lock.
  synchronizer_mutex() noexcept : has_state_(false), state_(0, false) {}
  /// Creates a state_lock.
  synchronizer_mutex(state_lock::word number, bool may_be_owned) noexcept
      : has_state_(true), state_(number, may_be_owned) {}

  [[nodiscard]] bool lock() noexcept LEAT_ACQUIRE() LEAT_NO_ANALYSIS {
    if (!has_state_) return biased().lock();
    state_.lock();
    return false;
  }
  /// For a dump: returns false if locking is expensive or could take long. Leave with unlock(true).
  [[nodiscard]] bool try_lock_cheaply() noexcept LEAT_TRY_ACQUIRE(true) LEAT_NO_ANALYSIS {
    return has_state_ ? state_.try_lock() : biased().try_lock_as_owner();
  }
  /// `waiting`: operations wait.
  void unlock(bool as_owner, bool waiting) noexcept LEAT_RELEASE() LEAT_NO_ANALYSIS {
    has_state_ ? state_.unlock(waiting) : biased().unlock(as_owner);
  }

  // One of these two is in use.
  [[nodiscard]] biased_mutex& biased() noexcept { return state_.gate(); }
  [[nodiscard]] state_lock& state() noexcept { return state_; }
  [[nodiscard]] const state_lock& state() const noexcept { return state_; }

 private:
  const bool has_state_;
  state_lock state_;
};

/// Holds the lock of a primitive without a short path for a scope.
class LEAT_SCOPED_CAPABILITY biased_section {
 public:
  explicit biased_section(synchronizer_mutex& m) noexcept LEAT_ACQUIRE(m) LEAT_NO_ANALYSIS
      : mutex_(m.biased()),
        as_owner_(mutex_.lock()) {}
  ~biased_section() LEAT_RELEASE() LEAT_NO_ANALYSIS { mutex_.unlock(as_owner_); }
  biased_section(const biased_section&) = delete;
  biased_section& operator=(const biased_section&) = delete;

 private:
  biased_mutex& mutex_;
  const bool as_owner_;
};

}  // namespace LEAT::detail
