// Short random histories of the primitives on real threads. An order of the operations, each
// between its call and its return, must explain the results of all threads.
//
// Operations never wait, block their thread, or run in tasks, alone or in a select. Threads and
// tasks are stopped before or during a wait. If all of them wait, the main thread ends a wait.
//
// LEAT_HISTORIES sets the number of histories of each kind (default: 4,000, or 1,000 under the
// address sanitizer). `./dev campaign histories` takes 1,000,000.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/async/loop/runtime.hpp"
#include "leat/async/task_group.hpp"
#include "leat/base/internal/sanitizers.hpp"
#include "leat/base/random.hpp"
#include "stress/recorded_channels.hpp"
#include "stress/recorded_locks.hpp"
#include "stress/recording.hpp"
#include "stress/sync_history.hpp"
#include "support/effort.hpp"

namespace sync_linearizability_test {

using leat::task;
using recorded::threads;
using sync_model::ending;
using sync_model::explainable;
using sync_model::history;
using sync_model::kind;
using sync_model::operation;

constexpr std::size_t operations_each = 3;

enum class form { at_once, blocking, in_tasks };

// ---- Threads that run many rounds together and record one history in each.

template <class Tested>
class recorder {
 public:
  recorder(std::uint64_t seed, form f) : form_(f), helping_(seed * threads + threads) {
    for (std::size_t t = 0; t < threads; ++t) random_[t].emplace(seed * threads + t);
    if (form_ == form::in_tasks) {
      runtime_.emplace(leat::runtime_options{.threads = threads});
      return;
    }
    for (std::size_t t = 0; t < threads; ++t) {
      workers_.emplace_back([this, t](const std::stop_token& stop) { work(t, stop); });
    }
  }
  ~recorder() {
    for (auto& w : workers_) w.request_stop();
  }

  history record() {
    tested_.emplace();
    begun_ = 0;
    finished_ = 0;
    for (std::size_t t = 0; t < threads; ++t) {
      parts_[t].clear();
      has_finished_[t] = false;
      stops_[t] = std::stop_source();
      if (form_ == form::in_tasks) groups_[t].emplace();
    }
    for (std::size_t t = 0; t < threads && form_ == form::in_tasks; ++t) {
      groups_[t]->spawn_on(runtime_->get_scheduler(t), work_in_task(t));
    }
    quiet_ = 0;
    ++round_;
    history all;
    while (finished_ != threads) {
      if (form_ != form::at_once) help(all);
      std::this_thread::yield();
    }
    for (auto& g : groups_) {
      if (g) leat::block_on(g->join());
    }
    if (!all.empty()) ++stuck_;
    for (const auto& part : parts_) all.insert(all.end(), part.begin(), part.end());
    return all;
  }

  // The number of histories in which all threads waited.
  [[nodiscard]] int stuck() const noexcept { return stuck_; }

 private:
  // Acts if no thread can proceed: up to four times in a random way, then by a stop of each thread.
  void help(history& all) {
    const std::uint64_t now = clock_;
    quiet_ = std::exchange(quiet_since_, now) == now ? quiet_ + 1 : 0;
    const std::size_t finished = finished_;  // first: a waiting thread has not finished since
    if (quiet_ < Tested::patience || finished == threads) return;
    if (!tested_->all_wait(threads - finished)) return;
    operation o;
    o.thread = threads;
    if (Tested::patience == 0) {  // without this observation, they might not yet have begun to wait
      o.what = kind::waiting;
      o.number = threads - finished;
      o.called = now;
      o.returned = clock_++;
      all.push_back(std::exchange(o, {.thread = threads}));
    }
    if (all.size() >= 8 || helping_.uniform_below(3) == 0 || !can_help(o)) {
      if (!choose_stop(o, all)) return;
    }
    carry_out(o);
    quiet_ = 0;
    while (o.what == kind::stop && Tested::patience == 0 && !has_finished_[o.thread]) {
      std::this_thread::yield();
    }
    all.push_back(o);
  }
  // Chooses a thread that has not ended and that help() has not stopped.
  bool choose_stop(operation& o, const history& earlier) {
    std::vector<std::size_t> candidates;
    for (std::size_t t = 0; t < threads; ++t) {
      const bool stopped = std::any_of(earlier.begin(), earlier.end(), [t](const operation& e) {
        return e.what == kind::stop && e.thread == t;
      });
      if (!stopped && !has_finished_[t] && Tested::helps_by_stop(t)) candidates.push_back(t);
    }
    if (candidates.empty()) return false;
    o = {.what = kind::stop,
         .thread = candidates[static_cast<std::size_t>(helping_.uniform_below(candidates.size()))]};
    return true;
  }
  bool can_help(operation& o) {
    std::optional<std::size_t> idle;
    for (std::size_t t = 0; t < threads; ++t) {
      if (has_finished_[t]) idle = t;
    }
    return tested_->help(o, {helping_, false, false}, idle);
  }

  void work(std::size_t self, const std::stop_token& stop) {
    for (std::uint64_t seen = 0;;) {
      while (round_ == seen) {
        if (stop.stop_requested()) return;
        std::this_thread::yield();
      }
      ++seen;
      operation o;
      while (choose_next(self, o)) {
        carry_out(o);
        parts_[self].push_back(o);
      }
      has_finished_[self] = true;
      ++finished_;
    }
  }

  task<> work_in_task(std::size_t self) {
    ++begun_;
    while (begun_ != threads) std::this_thread::yield();
    operation o;
    while (choose_next(self, o)) {
      const bool selected = random_[self]->uniform_below(4) == 0;
      o.called = clock_++;
      try {
        if (o.what == kind::stop) {
          groups_[o.thread]->request_stop();
        } else {
          co_await tested_->in_task(o, selected);
        }
      } catch (const leat::failure&) {
        o.end = ending::cancelled;
      }
      o.returned = clock_++;
      parts_[self].push_back(o);
    }
    has_finished_[self] = true;
    ++finished_;
  }

  void carry_out(operation& o) {
    o.called = clock_++;
    try {
      if (o.what != kind::stop) {
        tested_->blocking(o, o.thread < threads ? stops_[o.thread].get_token() : std::stop_token());
      } else if (form_ == form::in_tasks) {
        groups_[o.thread]->request_stop();
      } else {
        stops_[o.thread].request_stop();
      }
    } catch (const leat::failure&) {
      o.end = ending::cancelled;
    }
    o.returned = clock_++;
  }

  // Returns false after the last operation.
  bool choose_next(std::size_t self, operation& o) {
    o = {.thread = self};
    if (parts_[self].size() >= operations_each) {
      return parts_[self].size() == operations_each && tested_->choose_last(o);
    }
    tested_->choose(o, {*random_[self], form_ != form::at_once, form_ != form::at_once});
    return true;
  }

  const form form_;
  leat::random_engine helping_;
  std::array<std::optional<leat::random_engine>, threads> random_;
  std::optional<Tested> tested_;
  std::array<history, threads> parts_{};
  std::array<std::stop_source, threads> stops_;
  std::array<std::atomic<bool>, threads> has_finished_{};
  std::atomic<std::uint64_t> clock_{0};
  std::atomic<std::uint64_t> round_{0};
  std::atomic<std::size_t> begun_{0};
  std::atomic<std::size_t> finished_{0};
  std::uint64_t quiet_since_ = 0;
  int quiet_ = 0;  // the number of times that the clock was found unchanged
  int stuck_ = 0;
  std::optional<leat::runtime> runtime_;
  std::array<std::optional<leat::task_group>, threads> groups_;
  std::vector<std::jthread> workers_;  // last: they use the other members
};

// ---- The cases.

// Changes a result as if the primitive had made one error; returns false if no change is possible.
bool make_wrong(operation& o) {
  switch (o.what) {
    case kind::try_acquire:
    case kind::try_send:
    case kind::set: o.end = o.end == ending::done ? ending::nothing : ending::done; return true;
    case kind::try_wait:
    case kind::modify:
      if (o.end != ending::done) return false;
      ++o.value;
      return true;
    case kind::acquire:
    case kind::send:
    case kind::wait:
    case kind::wait_until_closed:
      o.end = o.end == ending::done ? ending::cancelled : ending::done;
      return true;
    case kind::add:
    case kind::close: o.number = 1 - o.number; return true;
    case kind::state:
    case kind::waiting: ++o.number; return true;
    default: return false;
  }
}

template <class Tested>
void check_histories(form f) {
  const auto histories =
      static_cast<int>(leat_test::from_environment("LEAT_HISTORIES", LEAT_ASAN ? 1'000 : 4'000));
  using model = typename Tested::model;
  recorder<Tested> r(1, f);
  leat::random_engine random(2);
  std::map<std::pair<kind, ending>, int> seen;
  std::map<kind, int> made_wrong;
  std::map<kind, int> noticed;
  for (int i = 0; i < histories; ++i) {
    history all = r.record();
    REQUIRE(all.size() <= 32);  // bits of sync_model::progress
    if (!explainable<model>(all, Tested::rules)) FAIL("history " << i << ":\n" << text_of(all));
    for (const operation& o : all) ++seen[{o.what, o.end}];
    operation& victim = all[static_cast<std::size_t>(random.uniform_below(all.size()))];
    if (i >= 1000 || !make_wrong(victim)) continue;
    ++made_wrong[victim.what];
    noticed[victim.what] += explainable<model>(all, Tested::rules) ? 0 : 1;
  }
  for (const auto& [what, count] : made_wrong) {
    INFO("kind " << static_cast<int>(what) << ": " << count << " made wrong");
    CHECK((count < 50 || noticed[what] > count / 10));
  }
  if (f == form::at_once) return;
  if (Tested::patience == 0) {
    CHECK(r.stuck() > histories / 100);
    CHECK(r.stuck() < histories);
  }
  int cancelled = 0;
  int waited = 0;
  for (const auto& [how, count] : seen) {
    if (how.first != kind::acquire && how.first != kind::wait) continue;
    (how.second == ending::cancelled ? cancelled : waited) += count;
  }
  CHECK(cancelled > histories / 100);
  CHECK(waited > histories / 10);
}

TEMPLATE_TEST_CASE("linearizability: an order explains each history of four threads on a primitive",
                   "[stress]", recorded::semaphore, recorded::mutex, recorded::shared_mutex,
                   recorded::event, recorded::watch,
                   recorded::broadcast<leat::lag_policy::overwrite>,
                   recorded::broadcast<leat::lag_policy::wait>, recorded::oneshot) {
  const form f = GENERATE(form::at_once, form::blocking, form::in_tasks);
  INFO("form " << static_cast<int>(f));
  check_histories<TestType>(f);
}

}  // namespace sync_linearizability_test
