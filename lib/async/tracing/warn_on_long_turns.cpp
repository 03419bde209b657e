#include "leat/async/tracing/warn_on_long_turns.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "async/dump/all_signals_blocked.hpp"
#include "async/internal/live_tasks_text.hpp"
#include "async/internal/watched_run.hpp"
#include "async/scheduler/scheduler_records.hpp"
#include "base/internal/fork_generation.hpp"
#include "base/internal/held_during_fork.hpp"
#include "base/internal/never_destroyed.hpp"
#include "base/internal/standard_error.hpp"
#include "base/internal/thread_not_started.hpp"
#include "base/text/text_in_seconds.hpp"
#include "leat/async/dump/dump.hpp"
#include "leat/async/tracing/task_hooks.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"

namespace LEAT {
namespace {

std::string length_text(duration d) {
  if (d >= std::chrono::seconds(1)) return detail::text_in_seconds(d);
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(d).count()) + " ms";
}

std::string place_text(detail::watched_run::place p) {
  constexpr std::string_view on = " on";  // of "limit on", before an object
  if (p.verb.ends_with(on)) p.verb.remove_suffix(on.size());
  const std::string at = detail::to_text(p.at);
  return p.verb.empty() ? at : std::string(p.verb) + " at " + at;
}

long_turn to_long_turn(const detail::watched_run::report& r, std::size_t scheduler) {
  long_turn turn{r.name,    r.id,    detail::to_text(r.spawned_at), {}, r.lasted, r.has_ended, {},
                 scheduler, r.thread};
  turn.values = r.values;
  for (const auto& p : r.waited_at) turn.waited_at.push_back(place_text(p));
  if (r.has_ended)
    turn.until = r.until.at.line() == 0 ? "the end of the task" : place_text(r.until);
  return turn;
}

// The least threshold of all watchers is that of long turns.
constinit std::mutex mutex_of_thresholds;
[[maybe_unused]] const int thresholds_registered = detail::held_during_fork<mutex_of_thresholds>();

std::vector<std::int64_t>& thresholds() noexcept {
  static detail::never_destroyed<std::vector<std::int64_t>> instance;
  return instance.get();
}
void set_long_turn() noexcept {
  const auto least = std::ranges::min_element(thresholds());
  detail::watched_run::long_turn.store(least == thresholds().end() ? INT64_MAX : *least);
}

}  // namespace

std::string to_text(const long_turn& turn) {
  std::string text = "leat: ";
  text += detail::task_text(turn.task);
  if (turn.has_ended) {
    text += " held its loop for " + length_text(turn.lasted) + ", until " + turn.until + "\n";
  } else {
    text += " has held its loop for " + length_text(turn.lasted) + " (scheduler " +
            std::to_string(turn.scheduler) + ", thread " + std::to_string(turn.thread) + ")\n";
  }
  if (!turn.has_ended || !turn.was_reported) {
    std::string_view before = "  since ";
    for (const std::string& place : turn.waited_at) {
      text.append(std::exchange(before, "  awaited at ")).append(place).append("\n");
    }
    text += "  spawned at " + turn.spawned_at + "\n";
  }
  for (const auto& [name, value] : turn.values) text += "  with " + name + " " + value + "\n";
  if (turn.omitted > 0) {
    text += "  " + std::to_string(turn.omitted) + " long runs were omitted before\n";
  }
  return text;
}

// Its installation makes the schedulers take the path with hooks, which watches the runs; the hooks
// themselves do nothing.
class warn_on_long_turns::watcher : public task_hooks {
 public:
  watcher(duration threshold, long_turn_options options)
      : threshold_(threshold), options_(std::move(options)) {}

  void start(const std::shared_ptr<watcher>& self) {
    add_threshold();
    try {
      see_ends();
      installed_ = std::make_unique<task_hooks_scope>(self);
      const detail::all_signals_blocked for_the_thread;
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& error) {
      undo();
      throw failure(error.code(), detail::thread_not_started("warn_on_long_turns: its thread"));
    } catch (...) {
      undo();
      throw;
    }
    ::pthread_setname_np(thread_.native_handle(), "leat watchdog");
  }

  // Returns false in a child of fork(), in which the thread does not exist.
  bool end() noexcept {
    if (generation_ != detail::fork_generation()) {
      undo();
      return false;
    }
    LEAT_ASSERT(thread_.get_id() != std::this_thread::get_id(),
                "warn_on_long_turns destroyed by its own on_report: destroy it elsewhere");
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    ended_.notify_one();
    thread_.join();
    undo();
    return true;
  }

 private:
  struct known_runs {
    std::uint64_t reported = 0;  // the run that was reported last while it was in progress
    duration again{};            // and the time after which it is reported again
    std::uint64_t ended = 0;     // the last long run whose end was seen
    bool is_alive = true;
  };

  void add_threshold() {
    const std::lock_guard lock(mutex_of_thresholds);
    thresholds().push_back(threshold_.count());
    set_long_turn();
    ++detail::watched_run::watchers;
  }
  void undo() noexcept {
    installed_.reset();
    {
      const std::lock_guard lock(mutex_of_thresholds);
      std::vector<std::int64_t>& all = thresholds();
      all.erase(std::ranges::find(all, std::int64_t{threshold_.count()}));
      set_long_turn();
    }
    // The last watcher clears the reports, not to give old ones to the next.
    const std::lock_guard lock(detail::scheduler_records::mutex());
    if (--detail::watched_run::watchers == 0) detail::watched_run::late_reports().clear();
  }

  // Long runs that have ended before are not reported.
  void see_ends() {
    collect([](known_runs& known, const detail::watched_run::report& r, std::size_t) {
      if (r.has_ended) known.ended = r.run;
    });
  }

  // Calls f(known, report, scheduler) with the long runs that are new, or that still last.
  template <class F>
  void collect(F f) {
    for (auto& [serial, known] : known_) known.is_alive = false;
    const std::lock_guard lock(detail::scheduler_records::mutex());
    detail::scheduler_records::each_run(
        [&](std::uint64_t serial, std::size_t number, detail::watched_run& run) {
          known_runs& known = known_[serial];
          known.is_alive = true;
          run.each_long(threshold_, known.ended, known.reported, known.again,
                        [&](const detail::watched_run::report& r) { f(known, r, number); });
        });
    for (const auto& late : detail::watched_run::late_reports()) {
      known_runs& known = known_[late.serial];
      known.is_alive = true;
      if (late.last.lasted < threshold_ || late.last.run == known.ended) continue;
      f(known, late.last, late.number);
    }
    std::erase_if(known_, [](const auto& entry) { return !entry.second.is_alive; });
  }

  void run() noexcept {
    constexpr duration least = std::chrono::milliseconds(1);
    constexpr duration most = std::chrono::seconds(10);
    const duration interval = std::clamp(threshold_ / 4, least, most);
    std::unique_lock lock(mutex_);
    for (bool is_ending = false; !is_ending;) {
      ended_.wait_for(lock, interval, [this] { return is_ending_; });
      is_ending = is_ending_;
      lock.unlock();
      report_new();  // once more at the end: a run may just have ended
      lock.lock();
    }
  }

  // No lock is held while a report is made: it may take long.
  void report_new() noexcept {
    try {
      std::vector<long_turn> turns;
      collect([&](known_runs& known, const detail::watched_run::report& r, std::size_t number) {
        add_report(known, r, number, turns);
      });
      for (const long_turn& turn : turns) report(turn);
    } catch (const std::bad_alloc&) {
      ++omitted_;
    }
  }

  // The limit counts runs. One that it omits is reported later if it still holds its loop then.
  void add_report(known_runs& known, const detail::watched_run::report& r, std::size_t number,
                  std::vector<long_turn>& turns) {
    const bool was_reported = known.reported == r.run;
    if (r.has_ended) known.ended = r.run;
    if (!was_reported && !may_report()) {
      if (r.has_ended) ++omitted_;
      return;
    }
    turns.push_back(to_long_turn(r, number));
    turns.back().was_reported = was_reported;
    turns.back().omitted = std::exchange(omitted_, 0);
    if (r.has_ended) return;
    known.reported = r.run;
    known.again = 10 * r.lasted;
  }

  void report(const long_turn& turn) const {
    if (options_.on_report) {
      options_.on_report(turn);
    } else {
      detail::write_stderr(to_text(turn));
    }
  }

  [[nodiscard]] bool may_report() {
    const time_point now = std::chrono::steady_clock::now();
    while (!reported_at_.empty() && now - reported_at_.front() > std::chrono::minutes(1)) {
      reported_at_.pop_front();
    }
    if (reported_at_.size() >= options_.reports_per_minute) return false;
    reported_at_.push_back(now);
    return true;
  }

  const duration threshold_;
  const long_turn_options options_;
  const unsigned generation_ = detail::fork_generation();
  std::unique_ptr<task_hooks_scope> installed_;

  // Of the thread.
  std::map<std::uint64_t, known_runs> known_;  // by the serial number of the scheduler
  std::deque<time_point> reported_at_;
  std::uint64_t omitted_ = 0;

  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_ending_ = false;  // guarded by mutex_
  std::thread thread_;      // last: it uses the others
};

warn_on_long_turns::warn_on_long_turns(time_span threshold, long_turn_options options) {
  if (threshold <= duration::zero()) {
    throw failure(errc::invalid_argument, "warn_on_long_turns: the threshold is " +
                                              std::to_string(threshold.count()) +
                                              " ns: use a positive one, such as 50 ms");
  }
  if (options.reports_per_minute == 0) {
    throw failure(errc::invalid_argument,
                  "long_turn_options::reports_per_minute is 0: use 1 or more");
  }
  watcher_ = std::make_shared<watcher>(threshold, std::move(options));
  watcher_->start(watcher_);
}

warn_on_long_turns::~warn_on_long_turns() {
  // In a child of fork(), the thread cannot be joined.
  if (!watcher_->end()) static_cast<void>(new std::shared_ptr<watcher>(std::move(watcher_)));
}

}  // namespace LEAT
