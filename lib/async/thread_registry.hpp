#pragma once

#include <mutex>

#include "leat/async/internal/thread_record.hpp"

namespace LEAT::detail {

/// The records of the process's coordinated threads, newest first, for dump().
/// Thread safety: thread-safe. A traversal holds mutex(), which keeps alive the records and the
/// operations that their threads are blocked on. fork() holds it, too: see live_object.cpp.
class thread_registry {
 public:
  static void add(thread_record& record) noexcept;
  static void remove(thread_record& record) noexcept;

  static std::mutex& mutex() noexcept;

  /// First and next record of a traversal; null at the end.
  static const thread_record* first() noexcept { return newest_; }
  static const thread_record* next(const thread_record& p) noexcept { return p.following_; }

 private:
  static constinit thread_record* newest_;  // guarded by mutex()
};

}  // namespace LEAT::detail
