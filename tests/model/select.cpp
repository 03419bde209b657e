// A select between threads: a thread claims an operation before it completes it. One operation
// completes, and the others change nothing.

#include "leat/async/select.hpp"

#include "leat/async/task_group.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "model/items.hpp"
#include "model/scheduler.hpp"

namespace select_model {

using model::item;
using queue = leat::fifo_queue<item>;

// A task that selects, on a scheduler and thread of its own, and the check of all remaining items.
class selecting : public model::driven_program {
 protected:
  // Delays the other threads until the task is about to select. Otherwise they would finish first.
  void wait_for_task() const {
    while (!started_.load(std::memory_order_relaxed)) model::yield();
  }
  void count_rest() {
    require_ended();
    for (queue* q : {&a_, &b_}) {
      model::require(q->statistics().waiting_pops + q->statistics().waiting_pushes == 0,
                     "a finished select is still in a wait queue");
      while (const auto it = q->try_pop()) ledger_.took(1, *it);
    }
  }

  std::atomic<bool> started_{false};
  queue a_{2};
  queue b_{2};
  model::ledger ledger_;
};

// Two threads push to two queues. A task selects between them twice, so it takes both items.
class pops final : public selecting {
 public:
  pops() { spawn(take_two(started_, a_, b_, ledger_)); }

 private:
  static leat::task<void> take_two(std::atomic<bool>& started, queue& a, queue& b,
                                   model::ledger& ledger) {
    started.store(true, std::memory_order_relaxed);
    for (int i = 0; i < 2; ++i) {
      auto first = co_await leat::select(a.pop(), b.pop());
      auto& it = first.index() == 0 ? std::get<0>(first) : std::get<1>(first);
      model::require(it.has_value(), "a select ended with nothing");
      ledger.took(0, *it);
    }
  }
  void other_thread(unsigned index) override {
    wait_for_task();
    static_cast<void>(leat::block_on((index == 1 ? a_ : b_).push(item(index - 1, 0))));
  }
  void finish() override {
    model::require(ledger_.count() == 2, "a select took too little");
    count_rest();
    ledger_.check(2, 1);
  }
};

// As above with one select, against a stop of the task: it takes one item or none.
class stopped final : public selecting {
 public:
  stopped() { spawn(take_one(started_, a_, b_, ledger_)); }

 private:
  static leat::task<void> take_one(std::atomic<bool>& started, queue& a, queue& b,
                                   model::ledger& ledger) {
    started.store(true, std::memory_order_relaxed);
    try {
      auto first = co_await leat::select(a.pop(), b.pop());
      auto& it = first.index() == 0 ? std::get<0>(first) : std::get<1>(first);
      ledger.took(0, *it);
    } catch (const leat::failure&) {
    }
  }
  void other_thread(unsigned index) override {
    wait_for_task();
    if (index == 1) {
      static_cast<void>(leat::block_on(a_.push(item(0, 0))));
      static_cast<void>(leat::block_on(b_.push(item(0, 1))));
    } else {
      group_.request_stop();
    }
  }
  void finish() override {
    model::require(ledger_.count() <= 1, "a select took two");
    count_rest();
    for (unsigned n = 0; n < 2; ++n) model::require(ledger_.times(0, n) == 1, "lost, or twice");
  }
};

// A select between pushes to two full queues, from each of which a thread pops. One item is added.
class pushes final : public selecting {
 public:
  pushes() {
    for (unsigned n = 0; n < 2; ++n) {
      static_cast<void>(a_.try_push(item(0, n)));
      static_cast<void>(b_.try_push(item(1, n)));
    }
    spawn(put_one(started_, a_, b_));
  }

 private:
  static leat::task<void> put_one(std::atomic<bool>& started, queue& a, queue& b) {
    item x(2, 0);
    item y(2, 1);
    started.store(true, std::memory_order_relaxed);
    const auto first = co_await leat::select(a.push(std::move(x)), b.push(std::move(y)));
    model::require(x.is_gone() == (first.index() == 0), "the first item is in two places or none");
    model::require(y.is_gone() == (first.index() == 1), "the second item is in two places or none");
  }
  void other_thread(unsigned index) override {
    wait_for_task();
    if (const auto it = leat::block_on((index == 1 ? a_ : b_).pop())) {
      ledger_.took(index + 1, *it);
    }
  }
  void finish() override {
    count_rest();
    for (unsigned producer = 0; producer < 2; ++producer) {
      for (unsigned n = 0; n < 2; ++n) {
        model::require(ledger_.times(producer, n) == 1, "an item was lost or left twice");
      }
    }
    model::require(ledger_.times(2, 0) + ledger_.times(2, 1) == 1, "not one of the two went in");
  }
};

// A batch of two and a single pop. A batch that loses puts all its items back, even if it loses
// with its last item.
class batch final : public selecting {
 public:
  batch() { spawn(take(started_, a_, b_, ledger_)); }

 private:
  static leat::task<void> take(std::atomic<bool>& started, queue& a, queue& b,
                               model::ledger& ledger) {
    started.store(true, std::memory_order_relaxed);
    auto first = co_await leat::select(a.pop_many(2), b.pop());
    if (first.index() == 1) {
      ledger.took(0, *std::get<1>(first));
    } else {
      for (const item& it : *std::get<0>(first)) ledger.took(0, it);
    }
  }
  void other_thread(unsigned index) override {
    wait_for_task();
    if (index == 1) {
      for (unsigned n = 0; n < 2; ++n) static_cast<void>(leat::block_on(a_.push(item(0, n))));
    } else {
      static_cast<void>(leat::block_on(b_.push(item(1, 0))));
    }
  }
  void finish() override {
    const std::size_t taken = ledger_.count();
    model::require(taken == 1 || taken == 2, "a select took nothing, or from both");
    count_rest();
    model::require(ledger_.count() == 3, "an item was lost or left twice");
    for (unsigned n = 0; n < 2; ++n) model::require(ledger_.times(0, n) == 1, "not once");
  }
};

// A push_many with a stop token, against a stop. Two of its items fit and the third needs a pop. It
// returns the number of items added.
class run final : public selecting {
 public:
  run() { spawn(put(started_, a_, in_)); }

 private:
  static constexpr unsigned length = 3;

  static leat::task<void> put(std::atomic<bool>& started, queue& to, std::size_t& in) {
    std::vector<item> items = model::items_of(0, length);
    started.store(true, std::memory_order_relaxed);
    try {
      in = co_await leat::with_stop(to.push_many(items), std::stop_token());
      model::require(in == length, "a run ended early for no reason");
    } catch (const leat::partial_push_error& e) {
      in = e.count();
    }
    for (unsigned n = 0; n < length; ++n) {
      model::require(items[n].is_gone() == (n < in), "an item is in two places, or in none");
    }
  }
  void other_thread(unsigned index) override {
    wait_for_task();
    if (index == 1) {
      for (int i = 0; i < 2; ++i) {
        if (const auto it = a_.try_pop()) ledger_.took(0, *it);
        model::yield();
      }
    } else {
      group_.request_stop();
    }
  }
  void finish() override {
    count_rest();
    ledger_.check(1, static_cast<unsigned>(in_));
    model::require(ledger_.count() == in_, "the number of added items is not the reported one");
  }

  std::size_t in_ = 0;
};

using model::make;

const model::test tests[] = {
    {"select: pops of two queues into which two threads push", 3, make<pops>},
    {"select: pops of two queues against a stop", 3, make<stopped>},
    {"select: pushes into two queues from which two threads pop", 3, make<pushes>},
    {"select: a push_many with a limit against a stop", 3, make<run>},
    {"select: a batch next to a pop", 3, make<batch>},
};

}  // namespace select_model
