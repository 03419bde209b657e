// Tasks on schedulers of different threads: a stop request during a wait, joins, and wake-ups that
// one scheduler collects for another.

#include "leat/async/task_group.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "model/items.hpp"
#include "model/scheduler.hpp"

namespace tasks_model {

using model::item;
using queue = leat::fifo_queue<item>;

struct outcome {
  unsigned done = 0;
  unsigned closed = 0;
  unsigned cancelled = 0;
  [[nodiscard]] unsigned sum() const { return done + closed + cancelled; }
};

leat::task<void> pop_one(queue& q, outcome& o, model::ledger& ledger) {
  try {
    if (const auto it = co_await q.pop()) {
      ledger.took(0, *it);
      ++o.done;
    } else {
      ++o.closed;
    }
  } catch (const leat::failure&) {
    ++o.cancelled;
  }
}

leat::task<void> push_one(queue& q, outcome& o) {
  item it(0, 1);
  try {
    ++(co_await q.push(std::move(it)) ? o.done : o.closed);
    model::require(it.is_gone(), "a push succeeded and left its item");
  } catch (const leat::failure&) {
    model::require(!it.is_gone(), "a cancelled push took its item");
    ++o.cancelled;
  }
}

enum class side { pop, push };

// One thread completes the wait of a task, and another one stops and joins the task. It destroys
// the scope directly after the join. Either the completion or the stop ends the wait, never both.
template <side waiting>
class stopped final : public model::program {
 public:
  stopped() {
    if constexpr (waiting == side::push) static_cast<void>(queue_.try_push(item(0, 0)));
    auto task =
        waiting == side::pop ? pop_one(queue_, outcome_, ledger_) : push_one(queue_, outcome_);
    group_->spawn_on(scheduler_, std::move(task), "task", std::source_location::current());
  }

 private:
  void thread(unsigned index) override {
    if (index == 0) {
      scheduler_.drive();
    } else if (index == 1) {
      if constexpr (waiting == side::pop) {
        model::push_item(queue_, 0, 0);
      } else {
        const auto it = leat::block_on(queue_.pop());
        model::require(it.has_value(), "a pop found the queue closed");
        ledger_.took(1, *it);
      }
    } else {
      group_->request_stop();
      leat::block_on(group_->join());
      model::require(outcome_.sum() == 1, "a join ended before its task");
      group_.reset();
    }
  }
  void finish() override {
    model::require(outcome_.sum() == 1 && outcome_.closed == 0, "not one of the two has won");
    while (const auto it = queue_.try_pop()) ledger_.took(2, *it);
    ledger_.check(1, waiting == side::pop || outcome_.cancelled ? 1 : 2);
  }

  queue queue_{1};
  outcome outcome_;
  model::ledger ledger_;
  model::driven_scheduler scheduler_;
  std::unique_ptr<leat::task_group> group_ = std::make_unique<leat::task_group>("group");
};

leat::task<void> produce(queue& q, unsigned producer, unsigned count) {
  for (unsigned n = 0; n < count; ++n) {
    if (!co_await q.push(item(producer, n))) break;
  }
  q.close();
}

leat::task<void> consume(queue& q, model::ledger& ledger) {
  while (const auto it = co_await q.pop()) ledger.took(0, *it);
}

// A producer and a consumer, each on its own scheduler and thread. The consumer's scheduler
// collects the wake-ups of the producer and delivers them in bursts.
template <std::size_t capacity, bool stop>
class two_schedulers final : public model::program {
 public:
  two_schedulers() {
    const auto here = std::source_location::current();
    group_.spawn_on(schedulers_[0], produce(queue_, 0, each), "producer", here);
    group_.spawn_on(schedulers_[1], consume(queue_, ledger_), "consumer", here);
  }

 private:
  static constexpr unsigned each = 3;

  void thread(unsigned index) override {
    if (index < 2) {
      schedulers_[index].drive();
    } else if (stop) {
      group_.request_stop();
    }
  }
  void finish() override {
    model::require(group_.live_tasks() == 0, "a task has not ended");
    while (const auto it = queue_.try_pop()) ledger_.took(1, *it);
    if (stop) {
      ledger_.check(1, static_cast<unsigned>(ledger_.count()));
    } else {
      ledger_.check(1, each);
    }
  }

  queue queue_{capacity};
  model::ledger ledger_;
  std::array<model::driven_scheduler, 2> schedulers_;
  leat::task_group group_;
};

using model::make;

const model::test tests[] = {
    {"tasks: stop and join against a push for a waiting pop", 3, make<stopped<side::pop>>},
    {"tasks: stop and join against a pop for a waiting push", 3, make<stopped<side::push>>},
    {"tasks: producer and consumer on two schedulers, capacity 1", 2,
     make<two_schedulers<1, false>>},
    {"tasks: producer and consumer on two schedulers, capacity 2", 2,
     make<two_schedulers<2, false>>},
    {"tasks: stop of producer and consumer on two schedulers", 3, make<two_schedulers<1, true>>},
};

}  // namespace tasks_model
