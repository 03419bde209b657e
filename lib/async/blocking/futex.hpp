#pragma once

#include <atomic>
#include <cstdint>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// Sleeps while `word` has the value `expected`, until wake_one() is called or `limit` has passed.
/// May return early. If `limit` is null, it does not limit the sleep.
inline void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                        const timespec* limit) noexcept {
  static_assert(sizeof word == sizeof expected);
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, limit, nullptr, 0);
}

/// Wakes a thread that sleeps on `word`. The word need not exist any more: a thread that sleeps on
/// another word at the same address then returns early.
inline void wake_one(const std::atomic<std::uint32_t>* word) noexcept {
  ::syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace LEAT::detail
