#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/internal/thread_mutex.hpp"

namespace LEAT::detail {

// Adds up spans of time, which may overlap. Thread-safe.
class span_clock {
 public:
  void begin(time_point now) noexcept {
    const thread_lock lock(mutex_);
    ++open_;
    used_ = true;
    begins_ += ticks(now.time_since_epoch());
  }
  void end(time_point begin, time_point now) noexcept {
    const thread_lock lock(mutex_);
    --open_;
    begins_ -= ticks(begin.time_since_epoch());
    ended_ += now - begin;
  }
  // Adds a span that has ended.
  void add(duration d) noexcept {
    const thread_lock lock(mutex_);
    used_ = true;
    ended_ += d;
  }

  // Returns true if a span has begun or was added.
  [[nodiscard]] bool used() const noexcept {
    const thread_lock lock(mutex_);
    return used_;
  }

  // Returns the sum of all ended spans and, with `now`, of the open spans up to that time.
  [[nodiscard]] duration total(std::optional<time_point> now) const noexcept;

 private:
  // Sums of time points are computed modulo 2^64, since only their difference matters.
  static std::uint64_t ticks(duration d) noexcept { return static_cast<std::uint64_t>(d.count()); }

  mutable thread_mutex mutex_;
  bool used_ LEAT_GUARDED_BY(mutex_) = false;
  std::uint64_t open_ LEAT_GUARDED_BY(mutex_) = 0;
  std::uint64_t begins_ LEAT_GUARDED_BY(mutex_) = 0;
  duration ended_ LEAT_GUARDED_BY(mutex_){0};
};

// A span from its construction to its destruction, or to stop().
class timed_span {
 public:
  timed_span(span_clock& clock, scheduler& sched) noexcept
      : clock_(&clock), scheduler_(sched), begin_(sched.now()) {
    clock.begin(begin_);
  }
  timed_span(const timed_span&) = delete;
  timed_span& operator=(const timed_span&) = delete;
  ~timed_span() { stop(); }

  // Ends the measurement without reading the clock of a scheduler that may be gone.
  void forget() noexcept { clock_ = nullptr; }

  void stop() noexcept {
    if (clock_) std::exchange(clock_, nullptr)->end(begin_, scheduler_.now());
  }

 private:
  span_clock* clock_;
  scheduler& scheduler_;
  const time_point begin_;
};

}  // namespace LEAT::detail
