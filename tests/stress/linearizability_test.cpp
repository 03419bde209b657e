// Short random histories on real threads. An order of the operations, each between its call and its
// return, must explain the results of all threads.
//
// The tests cover queues of each order, single items and batches, and closes of both kinds.
// Operations never wait, block their thread, or run in tasks that are stopped before or during a
// wait. If all threads wait, the main thread pops or pushes items, closes the queue or stops a
// task.
//
// LEAT_HISTORIES sets the number of histories of each kind (default: 4,000, or 1,000 under the
// address sanitizer). `./dev campaign histories` takes 1,000,000.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/async/loop/runtime.hpp"
#include "leat/async/task_group.hpp"
#include "leat/base/internal/sanitizers.hpp"
#include "leat/base/random.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/queue/partial_push_error.hpp"
#include "leat/queue/priority_queue.hpp"
#include "leat/queue/random_shuffle_queue.hpp"
#include "stress/queue_model.hpp"

namespace linearizability_test {

using leat::task;
using queue_model::ending;
using queue_model::explainable;
using queue_model::history;
using queue_model::kind;
using queue_model::operation;
using queue_model::order;

constexpr std::size_t threads = 4;
constexpr std::size_t operations_each = 3;
constexpr std::size_t capacity = 2;

struct fifo {
  using queue = leat::fifo_queue<int>;
  static constexpr queue_model::rules rules{order::entry, capacity};
  static constexpr std::size_t most_popped = 3;
  static leat::queue_options options() { return {.capacity = capacity}; }
};
struct priority {
  using queue = leat::priority_queue<int>;
  static constexpr queue_model::rules rules{order::smallest, capacity};
  static constexpr std::size_t most_popped = capacity;  // the queue rejects larger batches
  static leat::queue_options options() { return {.capacity = capacity}; }
};
struct shuffle {
  using queue = leat::random_shuffle_queue<int>;
  static constexpr queue_model::rules rules{order::any, capacity, 1};
  static constexpr std::size_t most_popped = 3;
  static leat::shuffle_options options() {
    return {.capacity = capacity, .min_after_dequeue = rules.min_after_dequeue, .seed = 1};
  }
};

// ---- Carries out operations and records their results.

void pushed(operation& o, std::size_t count) {
  o.moved = count;
  const bool tried_some = o.what == kind::try_push && count > 0;
  o.end = tried_some || count == o.items.size() ? ending::done : ending::nothing;
}

template <class Items>
void popped(operation& o, Items&& items) {
  o.end = items ? ending::done : ending::nothing;
  if (!items) return;
  if constexpr (std::is_same_v<std::decay_t<Items>, std::optional<int>>) {
    o.items = {*items};
  } else {
    o.items = *items;
  }
}

void was_cancelled(operation& o, std::size_t in = 0) {
  o.moved = in;
  o.end = ending::cancelled;
}

template <class Queue>
void do_at_once(Queue& q, operation& o) {
  std::vector<int> run = o.items;
  switch (o.what) {
    case kind::try_push:
      pushed(o, run.size() == 1 ? std::size_t{q.try_push(int{run[0]})} : q.try_push_many(run));
      break;
    case kind::try_pop_many:
      o.count == 1 ? popped(o, q.try_pop()) : popped(o, q.try_pop_many(o.count));
      break;
    case kind::try_pop_up_to: popped(o, q.try_pop_up_to(o.count)); break;
    case kind::size: o.moved = q.size(); break;
    case kind::close: o.moved = q.close() ? 1 : 0; break;
    case kind::close_and_cancel: q.close_and_cancel(); break;
    default: std::abort();  // a waiting operation
  }
}

template <class Queue>
void do_blocking(Queue& q, operation& o) {
  std::vector<int> run = o.items;
  try {
    switch (o.what) {
      case kind::push:
        pushed(o, run.size() == 1 ? std::size_t{leat::block_on(q.push(int{run[0]}))}
                                  : leat::block_on(q.push_many(run)));
        break;
      case kind::pop_many:
        o.count == 1 ? popped(o, leat::block_on(q.pop()))
                     : popped(o, leat::block_on(q.pop_many(o.count)));
        break;
      case kind::pop_up_to: popped(o, leat::block_on(q.pop_up_to(o.count))); break;
      default: do_at_once(q, o);
    }
  } catch (const leat::partial_push_error& e) {
    was_cancelled(o, e.count());
  } catch (const leat::failure&) {
    was_cancelled(o);
  }
}

template <class Queue>
task<> do_in_task(Queue& q, operation& o) {
  std::vector<int> run = o.items;
  try {
    switch (o.what) {
      case kind::push: {
        std::size_t in = 0;
        if (run.size() == 1) {
          const bool went_in = co_await q.push(int{run[0]});
          in = went_in ? 1 : 0;
        } else {
          in = co_await q.push_many(run);
        }
        pushed(o, in);
        break;
      }
      case kind::pop_many: {
        if (o.count == 1) {
          popped(o, co_await q.pop());
        } else {
          popped(o, co_await q.pop_many(o.count));
        }
        break;
      }
      case kind::pop_up_to: popped(o, co_await q.pop_up_to(o.count)); break;
      default: do_at_once(q, o);
    }
  } catch (const leat::partial_push_error& e) {
    was_cancelled(o, e.count());
  } catch (const leat::failure&) {
    was_cancelled(o);
  }
}

// ---- Threads that run many rounds together and record one history in each.

enum class face { at_once, blocking, in_tasks };

template <class Tested>
class recorder {
 public:
  // Except for face::at_once, most operations wait until they can complete.
  recorder(std::uint64_t seed, face f) : seed_(seed), face_(f), helping_(seed * threads + threads) {
    for (std::size_t t = 0; t < threads; ++t) random_[t].emplace(seed_ * threads + t);
    if (face_ == face::in_tasks) {
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
    queue_.emplace(Tested::options());
    begun_ = 0;
    finished_ = 0;
    for (auto& f : has_finished_) f = false;
    if (face_ == face::in_tasks) {
      for (std::size_t t = 0; t < threads; ++t) {
        groups_[t].emplace();
      }
      for (std::size_t t = 0; t < threads; ++t) {
        groups_[t]->spawn_on(runtime_->get_scheduler(t), work_in_task(t));
      }
    }
    ++round_;
    history all;
    while (finished_ != threads) {
      if (face_ != face::at_once) help(all);
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
  // Acts if no thread can proceed: up to six times in a random way, then by close_and_cancel().
  void help(history& all) {
    const std::size_t finished = finished_;  // first: a waiting thread has not finished since
    const auto s = queue_->statistics();
    if (finished == threads || s.waiting_pops + s.waiting_pushes + finished != threads) return;
    const std::uint64_t way = all.size() < 6 ? helping_.uniform_below(5) : 0;
    operation o;
    o.thread = threads;
    if (way >= 3 && face_ == face::in_tasks) {
      o.what = kind::stop;
      while (has_finished_[o.thread = static_cast<std::size_t>(helping_.uniform_below(threads))]) {
      }
      carry_out(o);
      while (!has_finished_[o.thread]) std::this_thread::yield();
    } else if (way == 0) {
      o.what = kind::close_and_cancel;
      carry_out(o);
    } else if (s.waiting_pushes > 0) {
      o.what = kind::try_pop_up_to;
      o.count = way == 1 ? 1 : 2;
      carry_out(o);
    } else if (way == 1) {
      o.what = kind::close;
      carry_out(o);
    } else {
      o.what = kind::try_push;
      o.items = {static_cast<int>(100 + all.size())};
      carry_out(o);
    }
    all.push_back(std::move(o));
  }

  void work(std::size_t self, const std::stop_token& stop) {
    for (std::uint64_t seen = 0;;) {
      while (round_ == seen) {
        if (stop.stop_requested()) return;
        std::this_thread::yield();
      }
      ++seen;
      for (std::size_t i = 0; i < operations_each; ++i) {
        operation& o = parts_[self][i] = any_operation(self, i);
        carry_out(o);
      }
      has_finished_[self] = true;
      ++finished_;
    }
  }

  task<> work_in_task(std::size_t self) {
    ++begun_;
    while (begun_ != threads) std::this_thread::yield();
    for (std::size_t i = 0; i < operations_each; ++i) {
      operation& o = parts_[self][i] = any_operation(self, i);
      o.called = clock_++;
      if (o.what == kind::stop) {
        groups_[o.thread]->request_stop();
      } else {
        co_await do_in_task(*queue_, o);
      }
      o.returned = clock_++;
    }
    has_finished_[self] = true;
    ++finished_;
  }

  void carry_out(operation& o) {
    o.called = clock_++;
    if (o.what == kind::stop) {
      groups_[o.thread]->request_stop();
    } else {
      do_blocking(*queue_, o);
    }
    o.returned = clock_++;
  }

  operation any_operation(std::size_t self, std::size_t number) {
    leat::random_engine& random = *random_[self];
    const bool waits = face_ != face::at_once && random.uniform_below(4) != 0;
    operation o;
    o.thread = self;
    const std::uint64_t which = random.uniform_below(24);
    if (which == 0) {
      o.what = kind::size;
    } else if (which == 1) {
      o.what = random.uniform_below(2) == 0 ? kind::close : kind::close_and_cancel;
    } else if (which == 2 && face_ == face::in_tasks) {
      o.what = kind::stop;
      o.thread = static_cast<std::size_t>(random.uniform_below(threads));
    } else if (which < 13) {
      o.what = waits ? kind::push : kind::try_push;
      const int first = static_cast<int>(random.uniform_below(8) * 1000 + self * 100 + number * 10);
      const int count = how_many(random, 3);
      for (int i = 0; i < count; ++i) o.items.push_back(first + i);
    } else {
      const bool up_to = random.uniform_below(3) == 0;
      o.what = up_to ? kind::pop_up_to : kind::pop_many;
      if (!waits) o.what = up_to ? kind::try_pop_up_to : kind::try_pop_many;
      o.count = static_cast<std::size_t>(how_many(random, Tested::most_popped));
    }
    return o;
  }

  static int how_many(leat::random_engine& random, std::size_t most) {
    return random.uniform_below(2) == 0 ? 1 : 2 + static_cast<int>(random.uniform_below(most - 1));
  }

  const std::uint64_t seed_;
  const face face_;
  leat::random_engine helping_;
  std::array<std::optional<leat::random_engine>, threads> random_;
  std::optional<typename Tested::queue> queue_;
  std::array<std::array<operation, operations_each>, threads> parts_{};
  std::array<std::atomic<bool>, threads> has_finished_{};
  std::atomic<std::uint64_t> clock_{0};
  std::atomic<std::uint64_t> round_{0};
  std::atomic<std::size_t> begun_{0};
  std::atomic<std::size_t> finished_{0};
  int stuck_ = 0;
  std::optional<leat::runtime> runtime_;
  std::array<std::optional<leat::task_group>, threads> groups_;
  std::vector<std::jthread> workers_;  // last: they use the other members
};

// ---- The cases.

// Changes a result as if the queue had made one error; returns false if no change is possible.
bool make_wrong(operation& o) {
  switch (o.what) {
    case kind::try_push:
    case kind::push:
      if (o.end == ending::nothing && o.moved == 0) return false;  // it may have taken effect later
      --o.moved;                                                   // one item too few is reported
      return true;
    case kind::size: ++o.moved; return true;
    case kind::close: o.moved = 1 - o.moved; return true;
    case kind::close_and_cancel:
    case kind::stop: return false;
    default:
      if (o.items.empty()) return false;
      o.items.pop_back();  // lost
      if (o.items.empty()) o.end = ending::nothing;
      return true;
  }
}

template <class Tested>
void check_histories(face f) {
  const char* const wanted = std::getenv("LEAT_HISTORIES");
  const int histories = wanted ? std::atoi(wanted) : LEAT_ASAN ? 1'000 : 4'000;
  recorder<Tested> r(1, f);
  leat::random_engine random(2);
  std::map<std::pair<kind, ending>, int> seen;
  std::map<kind, int> made_wrong;
  std::map<kind, int> noticed;
  for (int i = 0; i < histories; ++i) {
    history all = r.record();
    if (!explainable(all, Tested::rules)) FAIL("history " << i << ":\n" << text_of(all));
    for (const operation& o : all) ++seen[{o.what, o.end}];
    operation& victim = all[static_cast<std::size_t>(random.uniform_below(all.size()))];
    if (i >= 1000 || !make_wrong(victim)) continue;
    ++made_wrong[victim.what];
    noticed[victim.what] += explainable(all, Tested::rules) ? 0 : 1;
  }
  for (const auto& [what, count] : made_wrong) {
    INFO("kind " << static_cast<int>(what) << ": " << count << " made wrong");
    CHECK((count < 50 || noticed[what] > count / 10));
  }
  if (f == face::at_once) return;
  CHECK(r.stuck() > histories / 100);
  CHECK(r.stuck() < histories);
  CHECK(seen[{kind::push, ending::cancelled}] > histories / 100);
  if (f == face::in_tasks) CHECK(seen[{kind::pop_many, ending::cancelled}] > histories / 100);
}

TEST_CASE("linearizability: histories of four threads on a queue", "[stress]") {
  check_histories<fifo>(face::at_once);
}
TEST_CASE("linearizability: histories of four threads that wait for a queue", "[stress]") {
  check_histories<fifo>(face::blocking);
}
TEST_CASE("linearizability: histories of four threads of tasks on a queue", "[stress]") {
  check_histories<fifo>(face::in_tasks);
}
TEST_CASE("linearizability: histories of four threads on a priority_queue", "[stress]") {
  check_histories<priority>(face::at_once);
}
TEST_CASE("linearizability: histories of four threads that wait for a priority_queue", "[stress]") {
  check_histories<priority>(face::blocking);
}
TEST_CASE("linearizability: histories of four threads of tasks on a priority_queue", "[stress]") {
  check_histories<priority>(face::in_tasks);
}
TEST_CASE("linearizability: histories of four threads on a random_shuffle_queue", "[stress]") {
  check_histories<shuffle>(face::at_once);
}
TEST_CASE("linearizability: histories of four threads that wait for a random_shuffle_queue",
          "[stress]") {
  check_histories<shuffle>(face::blocking);
}
TEST_CASE("linearizability: histories of four threads of tasks on a random_shuffle_queue",
          "[stress]") {
  check_histories<shuffle>(face::in_tasks);
}

}  // namespace linearizability_test
