// A mutex between threads and tasks: it is handed over in order, a stop ends a wait, and another
// thread looks at it.

#include "leat/sync/mutex.hpp"

#include <optional>

#include "async/dump/internal/process_snapshot.hpp"
#include "leat/async/as_tuple.hpp"
#include "leat/async/loop/block_on.hpp"
#include "leat/async/select.hpp"
#include "model/scheduler.hpp"

namespace mutex_model {

// Data that the mutex protects.
class visited {
 public:
  void visit() { count_.set(count_.get() + 1); }
  void require_visits(const leat::mutex& m, unsigned expected) const {
    model::require(count_.get() == expected, "a visit was lost");
    model::require(!m.is_locked(), "the mutex is still locked");
    model::require(m.waiting_count() == 0 && m.is_consistent(), "an operation still waits");
  }
  [[nodiscard]] unsigned visits() const { return count_.get(); }

 private:
  model::guarded<unsigned> count_;
};

// Looks at the mutex as tests and dumps do.
void look_at(const leat::mutex& m) {
  using access = leat::detail::live_object::access;
  model::require(m.is_consistent(), "an operation waits that could be served");
  for (const access how : {access::as_owner, access::any}) {
    leat::detail::object_state state;
    const bool reported = leat::synchronizer::report(&m, how, state);
    model::require(reported || how == access::as_owner, "a dump shows no mutex");
    model::require(state.waiting.size() <= 2, "more operations wait than exist");
  }
}

// All threads lock. With `looks`, the last one looks instead.
template <unsigned threads, bool looks>
class visitors final : public model::program {
  static constexpr unsigned visits = threads == 2 ? 2 : 1;

  void thread(unsigned index) override {
    if (looks && index == threads - 1) return look_at(mutex_);
    for (unsigned i = 0; i < visits; ++i) {
      const auto guard = leat::block_on(mutex_.lock());
      data_.visit();
    }
  }
  void finish() override { data_.require_visits(mutex_, (threads - (looks ? 1 : 0)) * visits); }

  leat::mutex mutex_;
  visited data_;
};

// A task locks while a thread locks too, and another thread stops the task or tries to lock.
enum class third { stops, tries };

template <third what>
class task_and_threads final : public model::driven_program {
 public:
  task_and_threads() {
    model::may_have_waited(mutex_);
    spawn(lock(*this));
  }

 private:
  static leat::task<void> lock(task_and_threads& self) {
    auto [ec, guard] = co_await leat::as_tuple(self.mutex_.lock());
    model::require(static_cast<bool>(guard) != static_cast<bool>(ec), "cancelled with the lock");
    if (!guard) co_return;
    self.data_.visit();
    ++self.locked_[0];
    guard.unlock();
  }
  void other_thread(unsigned index) override {
    if (index == 1) {
      const auto guard = leat::block_on(mutex_.lock());
      data_.visit();
      ++locked_[1];
    } else if (what == third::stops) {
      group_.request_stop();
    } else if (const auto guard = mutex_.try_lock()) {
      data_.visit();
      ++locked_[2];
    }
  }
  void finish() override {
    require_ended();
    model::require(locked_[1] == 1, "a thread did not lock");
    model::require(locked_[0] == 1 || what == third::stops, "the task did not lock");
    data_.require_visits(mutex_, locked_[0] + locked_[1] + locked_[2]);
  }

  leat::mutex mutex_;
  visited data_;
  std::array<unsigned, 3> locked_{};
};

// Two tasks on schedulers of two threads lock twice, so a task hands the mutex over to a task.
// Another thread stops them, or looks and locks too.
template <bool stops>
class two_schedulers final : public model::program {
 public:
  two_schedulers() {
    model::may_have_waited(mutex_);
    for (unsigned i = 0; i < 2; ++i) {
      group_.spawn_on(schedulers_[i], lock_twice(mutex_, data_, locked_[i]), "task",
                      std::source_location::current());
    }
  }

 private:
  static leat::task<void> lock_twice(leat::mutex& m, visited& data, unsigned& locked) {
    for (unsigned i = 0; i < 2; ++i) {
      const auto [ec, guard] = co_await leat::as_tuple(m.lock());
      model::require(static_cast<bool>(guard) != static_cast<bool>(ec), "cancelled with the lock");
      if (!guard) continue;
      data.visit();
      ++locked;
    }
  }
  void thread(unsigned index) override {
    if (index < 2) {
      schedulers_[index].drive();
    } else if (stops) {
      group_.request_stop();
    } else {
      look_at(mutex_);
      const auto guard = leat::block_on(mutex_.lock());
      data_.visit();
    }
  }
  void finish() override {
    model::require(group_.live_tasks() == 0, "a task has not ended");
    const unsigned sum = locked_[0] + locked_[1];
    model::require(stops || sum == 4, "a task did not lock");
    data_.require_visits(mutex_, sum + (stops ? 0 : 1));
  }

  leat::mutex mutex_;
  visited data_;
  std::array<unsigned, 2> locked_{};
  std::array<model::driven_scheduler, 2> schedulers_;
  leat::task_group group_;
};

// A task selects between two mutexes, which two threads unlock. It receives one of them.
class selected final : public model::driven_program {
 public:
  selected() { spawn(lock_one(*this)); }

 private:
  static leat::task<void> lock_one(selected& self) {
    const auto first = co_await leat::select(self.mutexes_[0].lock(), self.mutexes_[1].lock());
    self.data_[first.index()].visit();
    self.won_ = first.index();
  }
  void other_thread(unsigned index) override {
    data_[index - 1].visit();
    guards_[index - 1].unlock();
  }
  void finish() override {
    require_ended();
    for (unsigned i = 0; i < 2; ++i) data_[i].require_visits(mutexes_[i], won_ == i ? 2 : 1);
  }

  std::array<leat::mutex, 2> mutexes_;
  std::array<leat::mutex::guard, 2> guards_{mutexes_[0].try_lock(), mutexes_[1].try_lock()};
  std::array<visited, 2> data_;
  std::size_t won_ = 2;
};

// One thread destroys the scheduler of a task that waits for the mutex, another one unlocks the
// mutex, and a third one stops the task. The mutex is unlocked afterwards.
class destroyed final : public model::ending_program {
 public:
  destroyed() {
    model::may_have_waited(mutex_);
    start(lock(mutex_));
  }

 private:
  static leat::task<void> lock(leat::mutex& m) {
    const auto result = co_await leat::as_tuple(m.lock());
  }
  void end_wait() override { guard_.unlock(); }
  void finish() override {
    require_ended();
    visited().require_visits(mutex_, 0);
  }

  leat::mutex mutex_;
  leat::mutex::guard guard_ = mutex_.try_lock();
};

// A thread unlocks the mutex and another one locks it and keeps it. A third one, which has seen the
// second one wait, never sees the mutex unlocked.
class handed_over final : public model::program {
  void thread(unsigned index) override {
    if (index == 0) {
      first_.unlock();
    } else if (index == 1) {
      second_ = leat::block_on(mutex_.lock());
    } else if (mutex_.waiting_count() > 0) {
      model::require(mutex_.is_locked(), "unlocked while another thread waited");
    }
  }
  void finish() override {
    model::require(mutex_.is_locked(), "the second thread did not lock");
    second_.unlock();
    visited().require_visits(mutex_, 0);
  }

  leat::mutex mutex_;
  leat::mutex::guard first_ = mutex_.try_lock();
  leat::mutex::guard second_;
};

// The last of the threads that lock the mutex destroys it after its own unlock.
template <unsigned threads>
class last_one_destroys final : public model::program {
 public:
  last_one_destroys() {
    model::checks_destruction = true;
    mutex_.emplace();
  }

 private:
  void thread(unsigned) override {
    auto guard = leat::block_on(mutex_->lock());
    data_.visit();
    const bool last = data_.visits() == threads;
    guard.unlock();
    if (last) mutex_.reset();
  }

  std::optional<leat::mutex> mutex_;
  visited data_;
};

using model::make;
constexpr auto bounded = model::test::search::bounded;

const model::test tests[] = {
    {"mutex: two threads", 2, make<visitors<2, false>>, bounded},
    {"mutex: three threads", 3, make<visitors<3, false>>},
    {"mutex: two threads and one that looks", 3, make<visitors<3, true>>},
    {"mutex: lock() of a task against a stop and a thread", 3,
     make<task_and_threads<third::stops>>},
    {"mutex: lock() of a task against lock() and try_lock()", 3,
     make<task_and_threads<third::tries>>},
    {"mutex: tasks of two threads and a thread", 3, make<two_schedulers<false>>},
    {"mutex: tasks of two threads against a stop", 3, make<two_schedulers<true>>},
    {"mutex: a select between two mutexes that threads unlock", 3, make<selected>},
    {"mutex: a hand-over that another thread watches", 3, make<handed_over>},
    {"mutex: a task that is destroyed while it waits", 3, make<destroyed>},
    {"mutex: the last of two holders destroys it", 2, make<last_one_destroys<2>>, bounded},
};

}  // namespace mutex_model
