// Ends of a wait: close, close_and_cancel, fail, cancel and a timeout, each in a race with the
// completion of the operation. Each waiter is woken once, with one result. An operation that does
// not complete changes nothing.

#include "leat/queue/fifo_queue.hpp"
#include "model/items.hpp"
#include "model/queue_sleeper.hpp"

namespace queue_ends_model {

using leat::wait_outcome;
using leat::detail::queue_waiter;
using model::item;
using model::sleeper;
using queue = leat::fifo_queue<item>;

// A pop in a race with its cancellation and with a push. Either the pop has the item and the queue
// is empty, or the item is in the queue.
class cancelled_pop final : public model::program {
  void thread(unsigned index) override {
    if (index == 0) {
      outcome_ = pop_.sleep();
    } else if (index == 1) {
      model::push_item(queue_, 0, 0);
    } else {
      queue_waiter::cancel(pop_);
    }
  }
  void finish() override {
    const bool got = outcome_ == wait_outcome::done;
    model::require(got || outcome_ == wait_outcome::cancelled, "neither done nor cancelled");
    if (got) {
      const item it = operation_.slot.take();
      ledger_.took(0, it);
    }
    while (const auto it = queue_.try_pop()) ledger_.took(1, *it);
    ledger_.check(1, 1);
  }

  queue queue_{1};
  leat::detail::pop_operation<queue, item> operation_{&queue_};
  sleeper pop_{queue_, operation_};
  wait_outcome outcome_ = wait_outcome::waiting;
  model::ledger ledger_;
};

// A push to a full queue in a race with its cancellation and with a pop.
class cancelled_push final : public model::program {
 public:
  cancelled_push() { static_cast<void>(queue_.try_push(item(0, 0))); }

 private:
  void thread(unsigned index) override {
    if (index == 0) {
      outcome_ = push_.sleep();
    } else if (index == 1) {
      const auto it = leat::block_on(queue_.pop());
      model::require(it.has_value(), "a pop found nothing in a queue that was not closed");
      ledger_.took(0, *it);
    } else {
      queue_waiter::cancel(push_);
    }
  }
  void finish() override {
    const bool in = outcome_ == wait_outcome::done;
    model::require(in || outcome_ == wait_outcome::cancelled, "neither done nor cancelled");
    model::require(value_.is_gone() == in, "the item is in two places, or in none");
    while (const auto it = queue_.try_pop()) ledger_.took(0, *it);
    ledger_.check(1, in ? 2 : 1);
  }

  queue queue_{1};
  item value_{0, 1};
  leat::detail::push_operation<queue, item*> operation_{&queue_, &value_};
  sleeper push_{queue_, operation_};
  wait_outcome outcome_ = wait_outcome::waiting;
  model::ledger ledger_;
};

// A batch that holds one of its two items, in a race with its cancellation and beside a pop of one
// item. A cancelled batch puts its item back, for the pop that waits after it.
class cancelled_batch final : public model::program {
 public:
  cancelled_batch() {
    operation_.batch.reserve(2);
    static_cast<void>(queue_.try_push(item(0, 0)));
  }

 private:
  void thread(unsigned index) override {
    if (index == 0) {
      outcome_ = batch_.sleep();
    } else if (index == 1) {
      if (const auto it = leat::block_on(queue_.pop())) ledger_.took(1, *it);
    } else {
      static_cast<void>(leat::block_on(queue_.push(item(0, 1))));
      queue_waiter::cancel(batch_);
      queue_.close();
    }
  }
  void finish() override {
    if (outcome_ == wait_outcome::done) {
      model::require(operation_.batch.size() == 2, "a batch was short");
    } else {
      model::require(operation_.batch.empty(), "a cancelled batch kept an item");
    }
    for (const item& it : operation_.batch) ledger_.took(0, it);
    while (const auto it = queue_.try_pop()) ledger_.took(2, *it);
    ledger_.check(1, 2);
  }

  queue queue_{2};
  leat::detail::pop_many_operation<queue, item, queue_waiter::role::pop_many> operation_{&queue_,
                                                                                         2};
  sleeper batch_{queue_, operation_};
  wait_outcome outcome_ = wait_outcome::waiting;
  model::ledger ledger_;
};

// A batch that holds the only item and waits for another that never arrives, followed by a pop.
// Only the cancellation of the batch can give the item to the pop.
class batch_makes_way final : public model::program {
 public:
  batch_makes_way() {
    operation_.batch.reserve(2);
    static_cast<void>(queue_.try_push(item(0, 0)));
  }

 private:
  void thread(unsigned index) override {
    if (index == 0) {
      model::require(batch_.sleep() == wait_outcome::cancelled, "a batch was made of one item");
      ended_.store(true, std::memory_order_relaxed);
    } else if (index == 1) {
      if (const auto it = leat::block_on(queue_.pop())) ledger_.took(0, *it);
    } else {
      // A cancellation has no effect if the batch has not begun.
      while (!ended_.load(std::memory_order_relaxed)) {
        queue_waiter::cancel(batch_);
        model::yield();
      }
    }
  }
  void finish() override {
    model::require(operation_.batch.empty(), "a cancelled batch kept an item");
    ledger_.check(1, 1);
  }

  queue queue_{2};
  leat::detail::pop_many_operation<queue, item, queue_waiter::role::pop_many> operation_{&queue_,
                                                                                         2};
  sleeper batch_{queue_, operation_};
  std::atomic<bool> ended_{false};
  model::ledger ledger_;
};

// The deadline of the blocking operations below. In the model it may pass at any moment.
constexpr leat::time_point some_time{};

// A pop with a deadline against a push.
class late_pop final : public model::program {
  void thread(unsigned index) override {
    if (index == 1) {
      model::push_item(queue_, 0, 0);
      return;
    }
    try {
      const auto it = leat::block_on(queue_.pop(), some_time);
      model::require(it.has_value(), "a pop found a queue closed that was not");
      ledger_.took(0, *it);
    } catch (const leat::failure& e) {
      model::require(e.code() == leat::errc::deadline_exceeded, "neither done nor late");
    }
  }
  void finish() override {
    model::require(queue_.statistics().waiting_pops == 0,
                   "a finished pop is still in the wait queue");
    while (const auto it = queue_.try_pop()) ledger_.took(1, *it);
    ledger_.check(1, 1);
  }

  queue queue_{1};
  model::ledger ledger_;
};

// A push_many whose first item fits, against pops that make space for the others. It returns the
// number of items added.
class late_run final : public model::program {
  static constexpr unsigned length = 3;

  void thread(unsigned index) override {
    if (index == 1) {
      for (unsigned n = 0; n < length; ++n) {
        if (const auto it = queue_.try_pop()) ledger_.took(0, *it);
      }
      return;
    }
    std::vector<item> items = model::items_of(0, length);
    try {
      in_ = static_cast<unsigned>(leat::block_on(queue_.push_many(items), some_time));
      model::require(in_ == length, "a run ended early for no reason");
    } catch (const leat::partial_push_error& e) {
      model::require(e.code() == leat::errc::deadline_exceeded, "neither done nor late");
      in_ = static_cast<unsigned>(e.count());
    }
    for (unsigned n = 0; n < length; ++n) {
      model::require(items[n].is_gone() == (n < in_), "an item is in two places, or in none");
    }
  }
  void finish() override {
    model::require(queue_.statistics().waiting_pushes == 0,
                   "a finished push is still in the wait queue");
    while (const auto it = queue_.try_pop()) ledger_.took(0, *it);
    ledger_.check(1, in_);
    model::require(ledger_.count() == in_, "the number of added items is not the reported one");
  }

  queue queue_{1};
  unsigned in_ = 0;
  model::ledger ledger_;
};

enum class end { close, close_and_cancel, fail };

// Pushes and pops before and during their wait, when a third thread ends the queue.
template <end how>
class ended final : public model::program {
 public:
  ended() {
    if constexpr (how == end::fail) cause_ = std::make_exception_ptr(std::runtime_error("cause"));
  }

 private:
  static constexpr unsigned each = 2;

  void thread(unsigned index) override {
    if (index == 0) {
      for (unsigned n = 0; n < each; ++n) push(n);
    } else if (index == 1) {
      while (pop()) {
      }
    } else {
      if constexpr (how == end::close) queue_.close();
      if constexpr (how == end::close_and_cancel) queue_.close_and_cancel();
      if constexpr (how == end::fail) queue_.fail(cause_);
      model::require(how == end::close || queue_.is_closed(), "an end at once takes effect later");
    }
  }

  void push(unsigned n) {
    item it(0, n);
    leat::detail::push_operation<queue, item*> operation{&queue_, &it};
    sleeper self(queue_, operation);
    const wait_outcome o = self.sleep();
    entered_ += o == wait_outcome::done;
    model::require(it.is_gone() == (o == wait_outcome::done), "a push that failed took its item");
    if (o == wait_outcome::done) {
      model::require(entered_ == n + 1, "a push succeeded after one that found the queue closed");
    } else if constexpr (how == end::fail) {
      // A failed queue fails the waiting operations and all later ones.
      model::require(o == wait_outcome::failed, "a push did not see the failure");
    } else if constexpr (how == end::close_and_cancel) {
      model::require(o == wait_outcome::cancelled || o == wait_outcome::closed,
                     "a push did not see the close");
    } else {
      model::require(o == wait_outcome::closed, "a push did not see the close");
    }
  }

  bool pop() {
    leat::detail::pop_operation<queue, item> operation{&queue_};
    sleeper self(queue_, operation);
    const wait_outcome o = self.sleep();
    if (o == wait_outcome::done) {
      const item it = operation.slot.take();
      ledger_.took(0, it);
      return true;
    }
    model::require(o == (how == end::fail ? wait_outcome::failed : wait_outcome::closed),
                   "a pop did not see the end");
    return false;
  }

  void finish() override {
    ledger_.check(1, entered_);
    model::require(ledger_.count() == entered_, "an item left that was not pushed");
    model::require(queue_.is_closed() && queue_.size() == 0, "the queue is not closed and drained");
  }

  queue queue_{1};
  std::exception_ptr cause_;
  unsigned entered_ = 0;
  model::ledger ledger_;
};

using model::make;

const model::test tests[] = {
    {"queue ends: cancel of a pop against a push", 3, make<cancelled_pop>},
    {"queue ends: cancel of a push against a pop", 3, make<cancelled_push>},
    {"queue ends: cancel of a batch that holds an item", 3, make<cancelled_batch>},
    {"queue ends: cancel of a batch before a waiting pop", 3, make<batch_makes_way>},
    {"queue ends: timeout of a pop against a push", 2, make<late_pop>},
    {"queue ends: timeout of a push_many against pops", 2, make<late_run>},
    {"queue ends: close against a push and a pop", 3, make<ended<end::close>>},
    {"queue ends: close_and_cancel against a push and a pop", 3,
     make<ended<end::close_and_cancel>>},
    {"queue ends: fail against a push and a pop", 3, make<ended<end::fail>>},
};

}  // namespace queue_ends_model
