#pragma once

#include <atomic>
#include <cstdint>

#include "leat/base/internal/biased_mutex.hpp"
#include "leat/base/internal/thread_annotations.hpp"

namespace LEAT::detail {

/// A word that its first thread changes without an atomic instruction until a second thread changes
/// it.
///
/// The first thread owns a biased_mutex, and each of its changes is a section of it, with plain
/// loads and stores. The first other thread revokes the ownership for good. From then on the word
/// is shared, and each change is one atomic instruction. So a load sees the value before or after a
/// change.
///
/// A thread that neither owns the word nor finds it shared calls admit() first.
///
/// Thread safety: thread-safe, except that store() must not run during a change.
class biased_word {
 public:
  using value = std::uint64_t;

  /// If `may_be_owned` is false, the word is shared from the start.
  biased_word(value v, bool may_be_owned) noexcept : is_shared_(!may_be_owned), word_(v) {}
  biased_word(const biased_word&) = delete;
  biased_word& operator=(const biased_word&) = delete;

  [[nodiscard]] value load(std::memory_order order) const noexcept { return word_.load(order); }
  void store(value v, std::memory_order order) noexcept { word_.store(v, order); }

  /// Calls `change` with a reference to the value if the calling thread owns the word. Returns
  /// false otherwise.
  template <class Change>
  [[nodiscard, gnu::always_inline]] bool change_as_owner(Change change) noexcept LEAT_NO_ANALYSIS {
    if (!gate_.try_lock_as_owner()) [[unlikely]]
      return false;
    value v = word_.load(std::memory_order_relaxed);
    change(v);
    word_.store(v, std::memory_order_release);  // pairs with loads without the lock
    gate_.unlock(true);
    return true;
  }

  /// Returns true if the word is shared. Then change it with shared().
  [[nodiscard]] bool is_shared() const noexcept {
    // acquire: pairs with admit(). Sees the last change of the owner.
    return is_shared_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::atomic<value>& shared() noexcept { return word_; }

  /// Returns false if admit() is necessary, which may revoke the ownership of another thread.
  [[nodiscard]] bool admits() const noexcept { return gate_.is_owned_here() || is_shared(); }
  /// Makes the calling thread the owner of an unused word, and revokes the ownership of another
  /// thread. Call it if admits() returns false.
  [[gnu::cold]] void admit() noexcept LEAT_NO_ANALYSIS;

  /// The lock of the owner.
  [[nodiscard]] biased_mutex& gate() noexcept { return gate_; }

 private:
  biased_mutex gate_;
  std::atomic<bool> is_shared_;  // no thread owns the word any more
  std::atomic<value> word_;
};

}  // namespace LEAT::detail
