// The path of the thread that owns a queue's lock. The tasks of one scheduler push, pop, hand over
// items and wait without an atomic instruction. Meanwhile other threads revoke the ownership and
// push, pop, close or stop.
//
// Each program runs under both models of the lock's one-sided fence, since neither contains the
// other.

#include "leat/async/select.hpp"
#include "leat/async/task_group.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "model/items.hpp"
#include "model/scheduler.hpp"

namespace queue_owner_model {

using model::fence_model;
using model::item;
using queue = leat::fifo_queue<item>;

/// An action of another thread once the queue's lock has an owner.
enum class act {
  push,
  pop,
  take,  ///< pops the available items without waiting
  look,
  close,
  close_and_cancel,
  stop,   ///< stops the tasks
  token,  ///< ends one pop
};

// A producer and a consumer on a scheduler of the first thread. Each item that was pushed is popped
// once, in order, and all tasks end, whatever the other threads do.
template <std::size_t capacity, act... acts>
class owned final : public model::driven_program {
  static constexpr unsigned each = 3;
  static constexpr act what[] = {acts...};

 public:
  owned() {
    spawn(consume(*this), "consumer");
    spawn(produce(*this), "producer");
  }

 private:
  static leat::task<void> produce(owned& self) {
    try {
      for (unsigned n = 0; n < each; ++n) {
        const bool pushed = co_await self.queue_.push(item(0, n));
        if (!pushed) break;
        ++self.entered_[0];
      }
    } catch (const leat::failure&) {  // a stop, or a close that cancels
    }
    self.queue_.close();
    try {
      const bool pushed = co_await self.queue_.push(item(0, each));
      model::require(!pushed, "a push succeeded after the close");
    } catch (const leat::failure&) {  // as above
    }
  }

  static leat::task<void> consume(owned& self) {
    co_await self.take_until_the_token();
    try {
      while (const auto it = co_await self.queue_.pop()) self.ledger_.took(0, *it);
    } catch (const leat::failure&) {  // a stop
    }
  }

  // The try_pop() finds the queue empty and makes its thread the owner of the lock.
  leat::task<void> take_until_the_token() {
    const std::stop_token token = token_.get_token();
    try {
      if (const auto it = queue_.try_pop()) ledger_.took(0, *it);
      owned_.store(true, std::memory_order_relaxed);
      while (((acts == act::token) || ...)) {
        const auto it = co_await leat::with_stop(queue_.pop(), token);
        if (!it) break;
        ledger_.took(0, *it);
      }
    } catch (const leat::failure&) {
    }
  }

  void other_thread(unsigned index) override {
    // Relaxed: the thread needs to know that there is an owner, not to see the owner's writes.
    for (int i = 0; i < 20 && !owned_.load(std::memory_order_relaxed); ++i) model::yield();
    switch (what[index - 1]) {
      case act::push: entered_[index] = leat::block_on(queue_.push(item(index, 0))) ? 1 : 0; break;
      case act::pop:
        if (const auto it = leat::block_on(queue_.pop())) ledger_.took(index, *it);
        break;
      case act::take:
        for (unsigned i = 0; i < each; ++i) {
          if (const auto it = queue_.try_pop()) ledger_.took(index, *it);
        }
        break;
      case act::look:
        model::require(queue_.size() <= capacity, "the queue exceeds its capacity");
        break;
      case act::close: queue_.close(); break;
      case act::close_and_cancel: queue_.close_and_cancel(); break;
      case act::stop: group_.request_stop(); break;
      case act::token: token_.request_stop(); break;
    }
  }

  void finish() override {
    require_ended();
    while (const auto it = queue_.try_pop()) ledger_.took(0, *it);
    ledger_.check_order();
    std::size_t in = 0;
    for (unsigned p = 0; p <= sizeof...(acts); ++p) {
      in += entered_[p];
      for (unsigned n = 0; n < entered_[p]; ++n) {
        const std::size_t times = ledger_.times(p, n);
        model::require(times == 1, times ? "an item left twice" : "an item was lost");
      }
    }
    model::require(ledger_.count() == in, "an item left that was not pushed");
    const leat::queue_statistics now = queue_.statistics();
    model::require(now.waiting_pushes + now.waiting_pops == 0, "an operation still waits");
  }

  queue queue_{capacity};
  std::array<unsigned, 4> entered_{};
  model::ledger ledger_;
  std::stop_source token_;
  std::atomic<bool> owned_{false};
};

// A try of the owner that fails comes before the operation of another thread that would have let it
// succeed. So that thread sees what the owner wrote before the try.
template <bool is_push>
class failed_try final : public model::program {
  void thread(unsigned index) override {
    if (index == 0) {
      if (is_push) {
        static_cast<void>(queue_.try_push(item(0, 0)));
      } else {
        static_cast<void>(queue_.try_pop());
      }
      owned_.store(true, std::memory_order_relaxed);
      written_.store(true, std::memory_order_relaxed);
      failed_ = is_push ? !queue_.try_push(item(0, 1)) : !queue_.try_pop().has_value();
    } else {
      while (!owned_.load(std::memory_order_relaxed)) model::yield();
      done_ = is_push ? queue_.try_pop().has_value() : queue_.try_push(item(1, 0));
      seen_ = written_.load(std::memory_order_relaxed);
    }
  }
  void finish() override {
    model::require(done_, "the other thread could not do its operation");
    model::require(!failed_ || seen_, "a failed try does not come before the other operation");
  }

  queue queue_{1};
  std::atomic<bool> owned_{false};
  std::atomic<bool> written_{false};
  bool failed_ = false;
  bool done_ = false;
  bool seen_ = false;
};

const model::fenced_test<failed_try<true>> failed_push("queue owner: a push that fails", 2);
const model::fenced_test<failed_try<false>> failed_pop("queue owner: a pop that fails", 2);

template <std::size_t capacity, act... acts>
using owned_test = model::fenced_test<owned<capacity, acts...>>;

const owned_test<1, act::push> push("queue owner: another thread pushes", 2);
const owned_test<1, act::pop> pop("queue owner: another thread pops", 2);
const model::test take("queue owner: another thread tries to pop", 2,
                       model::make_under<owned<1, act::take>, fence_model::two_fences>);
const model::test take_w("queue owner: another thread tries to pop, system-wide fence", 2,
                         model::make_under<owned<2, act::take>, fence_model::system_wide>);
const owned_test<1, act::look> look("queue owner: another thread looks", 2);
const owned_test<1, act::close> close("queue owner: another thread closes", 2);
const owned_test<1, act::close_and_cancel> cancel("queue owner: another thread closes and cancels",
                                                  2);
const owned_test<1, act::stop> stop("queue owner: another thread stops the tasks", 2);
const owned_test<1, act::token> token("queue owner: another thread stops a pop", 2);
const owned_test<1, act::push, act::pop> both("queue owner: one pushes, one pops", 3);
const model::test ends("queue owner: one closes, one stops", 3,
                       model::make_under<owned<2, act::close, act::stop>, fence_model::two_fences>);

}  // namespace queue_owner_model
