// A semaphore and a shared_mutex between threads and tasks: requests of different size, a stop and
// a close.

#include "leat/sync/semaphore.hpp"

#include <array>

#include "leat/async/as_tuple.hpp"
#include "leat/async/loop/block_on.hpp"
#include "leat/sync/shared_mutex.hpp"
#include "model/scheduler.hpp"

namespace semaphore_model {

void require_unused(const leat::semaphore& s) {
  model::require(s.available() == s.maximum(), "a permit was lost");
  model::require(s.waiting_count() == 0 && s.is_consistent(), "an operation still waits");
}

// One thread acquires both permits and writes. Two others acquire one permit each and read.
class sharing final : public model::program {
  void thread(unsigned index) override {
    const auto guard = leat::block_on(semaphore_.acquire(index == 0 ? 2 : 1));
    if (index == 0) {
      data_.set(1);
    } else {
      model::require(data_.get() <= 1, "a wrong value was read");
    }
  }
  void finish() override { require_unused(semaphore_); }

  leat::semaphore semaphore_{2};
  model::guarded<unsigned> data_;
};

// One of two permits stays taken, so a task that requests two waits until another thread stops it.
// A thread that requests one may wait after it until then.
class stopped final : public model::driven_program {
 public:
  stopped() {
    model::may_have_waited(semaphore_);
    spawn(acquire(semaphore_));
  }

 private:
  static leat::task<void> acquire(leat::semaphore& s) {
    const auto [ec, guard] = co_await leat::as_tuple(s.acquire(2));
    model::require(ec && !guard, "acquired a permit that is taken");
  }
  void other_thread(unsigned index) override {
    if (index == 2) {
      group_.request_stop();
      return;
    }
    const auto guard = leat::block_on(semaphore_.acquire());
    model::require(static_cast<bool>(guard), "an acquire found the semaphore closed");
  }
  void finish() override {
    require_ended();
    model::require(semaphore_.available() == 1, "a permit was lost");
    model::require(semaphore_.waiting_count() == 0, "an operation still waits");
  }

  leat::semaphore semaphore_{2};
  leat::semaphore::guard taken_ = semaphore_.try_acquire();
};

// A task and a thread acquire all permits, while another thread closes the semaphore. Later
// operations hold nothing, and permits return.
class closed final : public model::driven_program {
 public:
  closed() {
    model::may_have_waited(semaphore_);
    spawn(acquire(*this));
  }

 private:
  static leat::task<void> acquire(closed& self) {
    const bool is_late = self.semaphore_.is_closed();
    if (const auto guard = co_await self.semaphore_.acquire(2)) {
      model::require(!is_late, "waited and acquired after the close");
      self.visit();
    }
  }
  void other_thread(unsigned index) override {
    if (index == 1) {
      if (const auto guard = leat::block_on(semaphore_.acquire(2))) visit();
      return;
    }
    model::require(semaphore_.close(), "closed twice");
    model::require(!semaphore_.try_acquire(), "acquired after the close");
    model::require(!leat::block_on(semaphore_.acquire()), "waited and acquired after the close");
  }
  void visit() { visits_.set(visits_.get() + 1); }
  void finish() override {
    require_ended();
    model::require(semaphore_.is_closed(), "the semaphore is open");
    require_unused(semaphore_);
  }

  leat::semaphore semaphore_{2};
  model::guarded<unsigned> visits_;
};

// One of two permits stays taken. A thread returns the other one, for which another thread waits.
class returned final : public model::program {
  void thread(unsigned index) override {
    if (index == 0) return guards_[0].release();
    model::require(static_cast<bool>(leat::block_on(semaphore_.acquire())), "acquired nothing");
  }
  void finish() override { model::require(semaphore_.available() == 1, "a permit was lost"); }

  leat::semaphore semaphore_{2};
  std::array<leat::semaphore::guard, 2> guards_{semaphore_.try_acquire(), semaphore_.try_acquire()};
};

// Two threads release a permit for each message, and a task acquires one for each.
class notified final : public model::driven_program {
 public:
  notified() {
    model::may_have_waited(semaphore_);
    spawn(receive(*this));
  }

 private:
  static leat::task<void> receive(notified& self) {
    for (unsigned i = 0; i < 2; ++i) {
      auto permit = co_await self.semaphore_.acquire();
      permit.forget();
    }
    for (const auto& message : self.messages_) {
      model::require(message.get() == 1, "a message is missing");
    }
  }
  void other_thread(unsigned index) override {
    messages_[index - 1].set(1);
    model::require(semaphore_.release(), "too many permits");
  }
  void finish() override {
    require_ended();
    model::require(semaphore_.available() == 0, "a permit is left");
  }

  leat::semaphore semaphore_{0, 2};
  std::array<model::guarded<unsigned>, 2> messages_;
};

// One thread writes and two read. A reader that comes after a waiting writer waits for it.
class readers final : public model::program {
  void thread(unsigned index) override {
    if (index == 0) {
      for (unsigned i = 0; i < 2; ++i) {
        const auto guard = leat::block_on(mutex_.lock());
        data_.set(data_.get() + 1);
      }
      return;
    }
    const auto guard = index == 1 ? leat::block_on(mutex_.lock_shared()) : mutex_.try_lock_shared();
    if (guard) model::require(data_.get() <= 2, "a wrong value was read");
  }
  void finish() override {
    model::require(data_.get() == 2, "a write was lost");
    model::require(static_cast<bool>(mutex_.try_lock()), "the mutex is still locked");
    model::require(mutex_.waiting_count() == 0 && mutex_.is_consistent(), "an operation waits");
  }

  leat::shared_mutex mutex_;
  model::guarded<unsigned> data_;
};

using model::make;
constexpr auto bounded = model::test::search::bounded;

const model::test tests[] = {
    {"semaphore: requests for one permit and for all", 3, make<sharing>},
    {"semaphore: acquire() of a task against a stop and a thread", 3, make<stopped>},
    {"semaphore: close() against a task and a thread", 3, make<closed>},
    {"semaphore: a permit is returned while another one stays taken", 2, make<returned>, bounded},
    {"semaphore: release() of two threads against a task", 3, make<notified>},
    {"shared_mutex: a writer and two readers", 3, make<readers>},
};

}  // namespace semaphore_model
