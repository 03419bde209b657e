#pragma once

// The loops of the workloads sync/*, for any library with coroutines.

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <utility>

#include "support/bench.hpp"

namespace bench {

/// Counts an event of all tasks, and measures the time between two of these events. So the start
/// and the end of the tasks do not count.
class measured_count {
 public:
  /// Measures `r.items` events, after a tenth as many, or `least` if that is more, to warm up.
  measured_count(const request& r, long least)
      : first_(std::max(least, r.items / 10)), last_(first_ + std::max(least, r.items)) {}

  /// Counts an event. Returns false from the last one on.
  bool add() {
    ++count_;
    if (count_ == first_) begin_ = nanoseconds_now();
    if (count_ == last_) end_ = nanoseconds_now();
    return count_ < last_;
  }

  [[nodiscard]] long count() const { return count_; }
  [[nodiscard]] long last() const { return last_; }
  [[nodiscard]] double nanoseconds_each() const {
    return static_cast<double>(end_ - begin_) / static_cast<double>(last_ - first_);
  }

 private:
  const long first_;
  const long last_;
  long count_ = 0;
  long begin_ = 0;
  long end_ = 0;
};

constexpr long values_per_round = 64;  // of sync/broadcast-N

/// Calls a function when all tasks of a workload have started.
class start_signal {
 public:
  start_signal(long tasks, std::function<void()> then) : missing_(tasks), then_(std::move(then)) {}

  void arrive() {
    if (--missing_ == 0) then_();
  }

 private:
  long missing_;
  std::function<void()> then_;
};

/// Events that `tasks` tasks await one after the other. The last task that one event wakes sets the
/// next one.
template <class Event>
struct event_series {
  event_series(long count, measured_count& w)
      : tasks(count), wakes(w), events(static_cast<std::size_t>((w.last() + count - 1) / count)) {}

  const long tasks;
  long started = 0;
  long woken = 0;  // by the present event
  measured_count& wakes;
  std::deque<Event> events;
};

/// The parameters that the name of a workload contains.
struct delivery {
  explicit delivery(const request& r)
      : is_event(r.workload.starts_with("sync/event/")),
        has_turns(r.workload.starts_with("sync/hand-over") || r.workload.starts_with("sync/held") ||
                  r.workload.starts_with("sync/event/wake")),
        tasks(std::atol(r.workload.c_str() + r.workload.rfind('-') + 1)),
        rounds(r) {
    const bool broadcasts = r.workload.starts_with("sync/broadcast-");
    const bool waits = r.workload.ends_with("/waiting");
    if (broadcasts) unit = "ns/value";
    if (r.workload.starts_with("sync/watch")) unit = "ns/change";
    if (is_event) unit = has_turns ? "ns/wake" : "ns/wait";
    if (r.workload == "sync/event/set") unit = "ns/set";
    if (!broadcasts && !waits) return;
    const long round = tasks * (waits ? 1 : values_per_round);
    rounds.items = std::max(10 * round, r.items / round * round);
  }

  bool is_event;
  bool has_turns;  ///< is measured with measured_count
  long tasks;      ///< the number of tasks or receivers
  request rounds;  ///< its items are a multiple of those of a round
  const char* unit = "ns/lock";
};

/// The loops. Kit: a class with
///
///     template <class T> using task;  // its coroutines
///     static auto lock(Mutex&);       // awaited, returns a guard; also for a semaphore
///     static auto wait(Event&);       // awaited
///     static auto yield();            // awaited, lets other tasks run
template <class Kit>
struct sync_loops {
  template <class T>
  using task = typename Kit::template task<T>;

  template <class Mutex>
  static task<void> lock_alone(Mutex& m, long count, long& sum) {
    for (long i = 0; i < count; ++i) {
      auto held = co_await Kit::lock(m);
      ++sum;
    }
  }

  template <class Mutex>
  static task<void> take_turns(Mutex& m, measured_count& turns, start_signal* start = nullptr) {
    if (start) start->arrive();
    for (bool more = true; more;) {
      auto held = co_await Kit::lock(m);
      more = turns.add();
    }
  }

  template <class Mutex>
  static task<void> take_turns_and_yield(Mutex& m, measured_count& turns, start_signal& start) {
    start.arrive();
    for (bool more = true; more;) {
      auto held = co_await Kit::lock(m);
      co_await Kit::yield();
      more = turns.add();
    }
  }

  /// The loop of a task that takes turns with others. Precondition: the mutex is locked until the
  /// start signal unlocks it.
  template <class Mutex>
  static task<void> turns(const request& r, Mutex& m, measured_count& turns, start_signal& start) {
    return r.workload.starts_with("sync/held") ? take_turns_and_yield(m, turns, start)
                                               : take_turns(m, turns, &start);
  }

  template <class Event>
  static task<void> wait_when_set(Event& e, long count, long& sum) {
    for (; sum < count; ++sum) co_await Kit::wait(e);
  }

  template <class Event>
  static task<void> wait_for_each(event_series<Event>& all) {
    if (++all.started == all.tasks) Kit::set(all.events.front());
    for (auto e = all.events.begin(); e != all.events.end(); ++e) {
      co_await Kit::wait(*e);
      all.wakes.add();
      if (++all.woken < all.tasks) continue;
      all.woken = 0;
      if (const auto following = std::next(e); following != all.events.end()) Kit::set(*following);
    }
  }
};

}  // namespace bench
