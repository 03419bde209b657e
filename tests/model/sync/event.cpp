// An event between threads and tasks: set() against a wait, a stop and the end of the event, which
// a task may destroy after its wait.

#include "leat/sync/event.hpp"

#include <array>
#include <memory>

#include "leat/async/as_tuple.hpp"
#include "leat/async/loop/block_on.hpp"
#include "model/scheduler.hpp"

namespace event_model {

// The event, and data that set() publishes. Relacy reports an access after its destruction.
struct published {
  published() {
    model::checks_destruction = true;
    event = std::make_unique<leat::event>();
    model::may_have_waited(*event);
  }
  void set() {
    data.set(1);
    event->set();
  }
  void read() const { model::require(data.get() == 1, "the wait ended before set()"); }

  std::unique_ptr<leat::event> event;
  model::guarded<unsigned> data;
};

// A thread waits and destroys the event, while the set() of another thread may not have returned.
class thread_destroys final : public model::program {
  void thread(unsigned index) override {
    if (index == 0) return published_.set();
    leat::block_on(published_.event->wait());
    published_.read();
    published_.event.reset();
  }
  published published_;
};

// A task and a thread wait. The last one of them destroys the event.
class last_one_destroys final : public model::driven_program {
 public:
  last_one_destroys() { spawn(wait(*this)); }

 private:
  static leat::task<void> wait(last_one_destroys& self) {
    co_await self.published_.event->wait();
    self.woke();
  }
  void other_thread(unsigned index) override {
    if (index == 1) return published_.set();
    leat::block_on(published_.event->wait());
    woke();
  }
  void woke() {
    published_.read();
    if (waiting_.fetch_sub(1, std::memory_order_acq_rel) == 1) published_.event.reset();
  }
  void finish() override {
    require_ended();
    model::require(!published_.event, "a wait did not end");
  }

  published published_;
  std::atomic<unsigned> waiting_{2};
};

// A task waits and a thread looks at the event, so set() may need the lock although no operation
// waits. The last one of the two destroys the event.
class looked_at final : public model::driven_program {
 public:
  looked_at() { spawn(wait(*this)); }

 private:
  static leat::task<void> wait(looked_at& self) {
    co_await self.published_.event->wait();
    self.published_.read();
    self.leave();
  }
  void other_thread(unsigned index) override {
    if (index == 1) return published_.set();
    model::require(published_.event->is_consistent(), "an operation waits for a set event");
    leave();
  }
  void leave() {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) published_.event.reset();
  }
  void finish() override {
    require_ended();
    model::require(!published_.event, "the wait did not end");
  }

  published published_;
  std::atomic<unsigned> users_{2};
};

// A task waits, against a set() and a stop.
class stopped final : public model::driven_program {
 public:
  stopped() { spawn(wait(*this)); }

 private:
  static leat::task<void> wait(stopped& self) {
    const auto [ec] = co_await leat::as_tuple(self.published_.event->wait());
    if (!ec) self.published_.read();
    ++self.ended_;
  }
  void other_thread(unsigned index) override {
    if (index == 1) return published_.set();
    group_.request_stop();
  }
  void finish() override {
    require_ended();
    model::require(ended_ == 1, "the wait did not end");
    model::require(published_.event->is_set(), "the event is not set");
    model::require(published_.event->is_consistent(), "an operation waits for a set event");
  }

  published published_;
  unsigned ended_ = 0;
};

// Two threads send one message each and set the event, which may be set already. A thread waits,
// resets the event and looks for messages until it has seen both.
class messages final : public model::program {
  void thread(unsigned index) override {
    if (index < 2) {
      sent_[index].store(true, std::memory_order_relaxed);
      return event_.set();
    }
    for (unsigned seen = 0; seen < 2;) {
      leat::block_on(event_.wait());
      event_.reset();
      seen = 0;
      for (const auto& sent : sent_) seen += sent.load(std::memory_order_relaxed);
    }
  }
  leat::event event_;
  std::array<std::atomic<bool>, 2> sent_;
};

// is_set() orders what was done before set(), also while a thread waits.
class polled final : public model::program {
  void thread(unsigned index) override {
    if (index == 0) return published_.set();
    if (index == 2) return leat::block_on(published_.event->wait());
    while (!published_.event->is_set()) model::yield();
    published_.read();
  }
  published published_;
};

using model::make;
constexpr auto bounded = model::test::search::bounded;

const model::test tests[] = {
    {"event: the waiting thread destroys it", 2, make<thread_destroys>, bounded},
    {"event: the last of two waiting operations destroys it", 3, make<last_one_destroys>},
    {"event: destroyed after a wait, while another thread looks at it", 3, make<looked_at>},
    {"event: wait() of a task against set() and a stop", 3, make<stopped>},
    {"event: set() and reset() with messages of two threads", 3, make<messages>},
    {"event: is_set() while a thread waits", 3, make<polled>},
};

}  // namespace event_model
