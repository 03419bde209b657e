// Short random histories of the primitives on real threads. An order of the operations, each
// between its call and its return, must explain the results of all threads.
//
// Operations never wait, block their thread, or run in tasks, alone or in a select. Threads and
// tasks are stopped before or during a wait. If all of them wait, the main thread ends a wait.
//
// LEAT_HISTORIES sets the number of histories of each kind (default: 4,000, or 1,000 under the
// address sanitizer). `./dev campaign histories` takes 1,000,000.

#include <algorithm>
#include <tuple>

#include "stress/recorded_channels.hpp"
#include "stress/recorded_locks.hpp"
#include "stress/recorded_signals.hpp"
#include "stress/recorder.hpp"
#include "stress/sync_history.hpp"

namespace sync_linearizability_test {

using leat::task;
using recorded::form;
using recorded::operations_each;
using recorded::threads;
using sync_model::ending;
using sync_model::explainable;
using sync_model::history;
using sync_model::kind;
using sync_model::operation;

template <class Tested>
class sync_recorder final : public recorded::recorder<operation> {
 public:
  using recorder::recorder;

 private:
  void make_tested() override {
    tested_.emplace();
    stops_ = {};
    quiet_ = 0;
  }

  // Acts if no thread can proceed: up to four times in a random way, then by a stop of each thread.
  void help(history& all) override {
    const std::uint64_t now = clock_;
    quiet_ = std::exchange(quiet_since_, now) == now ? quiet_ + 1 : 0;
    const std::size_t finished = finished_;  // first: a waiting thread has not finished since
    if (quiet_ < Tested::patience || finished == threads) return;
    if constexpr (Tested::patience == 0) {
      if (tested_->waiting() != threads - finished) return;
    }
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

  void perform(operation& o) override {
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
  }

  task<> perform_in_task(std::size_t self, operation& o) override {
    const bool selected = random_[self]->uniform_below(4) == 0;
    try {
      co_await tested_->in_task(o, selected);
    } catch (const leat::failure&) {
      o.end = ending::cancelled;
    }
  }

  bool choose_next(std::size_t self, operation& o) override {
    o = {.thread = self};
    if (parts_[self].size() >= operations_each) {
      return parts_[self].size() == operations_each && tested_->choose_last(o);
    }
    tested_->choose(o, {*random_[self], form_ != form::at_once, form_ != form::at_once});
    return true;
  }

  std::optional<Tested> tested_;
  std::array<std::stop_source, threads> stops_;
  std::uint64_t quiet_since_ = 0;
  int quiet_ = 0;  // the number of times that the clock was found unchanged
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
void check_recorded(form f) {
  using model = typename Tested::model;
  sync_recorder<Tested> r(1, f);
  const auto explains = [](const history& all) {
    REQUIRE(all.size() <= 32);  // bits of sync_model::progress
    return explainable<model>(all, Tested::rules);
  };
  const auto seen = recorded::check_histories(r, explains, make_wrong);
  if (f == form::at_once) return;
  const int histories = recorded::history_count();
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

using all_primitives =
    decltype(std::tuple_cat(recorded::locks(), recorded::signals(), recorded::channels()));

TEMPLATE_LIST_TEST_CASE(
    "linearizability: an order explains each history of four threads on a primitive", "[stress]",
    all_primitives) {
  const form f = GENERATE(form::at_once, form::blocking, form::in_tasks);
  INFO("form " << static_cast<int>(f));
  check_recorded<TestType>(f);
}

}  // namespace sync_linearizability_test
