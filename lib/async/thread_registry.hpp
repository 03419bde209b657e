#pragma once

#include <mutex>

#include "leat/async/detail/thread_record.hpp"

namespace leat::detail {

/// The places of the process's coordinated threads, newest first, for dump().
/// Thread safety: shared-safe; a walk holds mutex() as long as it lasts, which keeps the places and
/// what their threads block on alive.
class thread_registry {
 public:
  static void add(thread_place& place) noexcept;
  static void remove(thread_place& place) noexcept;

  static std::mutex& mutex() noexcept;

  /// First and next place of a walk; null at the end.
  static const thread_place* first() noexcept { return newest_; }
  static const thread_place* next(const thread_place& p) noexcept { return p.following_; }

 private:
  static constinit thread_place* newest_;  // guarded by mutex()
};

}  // namespace leat::detail
