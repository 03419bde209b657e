// state_lock as the word of an event: the number 1 means that the event is set.

#include <array>
#include <memory>

#include "leat/sync/detail/state_lock.hpp"
#include "model/model.hpp"

namespace state_lock_event_model {

using leat::detail::state_lock;

class flag {
 public:
  void change(bool to) {
    if (!lock_.set(to)) change_with_lock(to);
  }
  // As with operations that wait.
  void change_with_lock(bool to) {
    lock_.lock();
    lock_.set_number(to);
    lock_.unlock(false);
  }
  // Waits until the event is set, and returns after the last access of the thread that sets it.
  void wait() const {
    while (!lock_.is_simply(1)) model::yield();
  }
  // The slower form: under the lock. The thread that set it is then outside.
  void wait_with_lock() {
    for (;; model::yield()) {
      lock_.lock();
      const bool done = lock_.number() == 1;
      lock_.unlock(false);
      if (done) return;
    }
  }
  [[nodiscard]] bool is_set() const { return lock_.number() == 1; }

 private:
  state_lock lock_{0, false};
};

// An event on the heap. Relacy reports an access that does not happen before its destruction.
class destroyed : public model::program {
 protected:
  destroyed() {
    model::checks_destruction = true;
    flag_ = std::make_unique<flag>();
  }
  void set(bool with_lock = false) {
    data_.set(1);
    with_lock ? flag_->change_with_lock(true) : flag_->change(true);
  }
  void read() const { model::require(data_.get() == 1, "the wait ended early"); }

  std::unique_ptr<flag> flag_;
  model::guarded<unsigned> data_;
};

// The thread that waits destroys the event.
template <bool set_with_lock, bool wait_with_lock>
class wait_and_destroy final : public destroyed {
  void thread(unsigned index) override {
    if (index == 0) return set(set_with_lock);
    wait_with_lock ? flag_->wait_with_lock() : flag_->wait();
    read();
    flag_.reset();
  }
};

// Of two threads that wait, the last one destroys the event. One of them takes the lock, so the
// thread that sets the event may find it held.
class last_one_destroys final : public destroyed {
  void thread(unsigned index) override {
    if (index == 0) return set();
    index == 1 ? flag_->wait_with_lock() : flag_->wait();
    read();
    if (waiting_.fetch_sub(1, std::memory_order_acq_rel) == 1) flag_.reset();
  }
  std::atomic<unsigned> waiting_{2};
};

// A wait in a list, which set() must not miss.
class listed final : public model::program {
  void thread(unsigned index) override {
    if (index == 1) return set();
    lock_.lock();
    const bool is_set = lock_.number() == 1;
    if (!is_set) waiting_.set(true);
    lock_.unlock(!is_set);
    while (!is_set && !woken_.load(std::memory_order_acquire)) model::yield();
    model::require(data_.get() == 1, "the wait ended early");
  }
  void set() {
    data_.set(1);
    if (lock_.set(1)) return;
    lock_.lock();
    lock_.set_number(1);
    const bool wakes = waiting_.get();
    waiting_.set(false);
    lock_.unlock(false);
    if (wakes) woken_.store(true, std::memory_order_release);
  }

  state_lock lock_{0, false};
  model::guarded<bool> waiting_{false};
  std::atomic<bool> woken_{false};
  model::guarded<unsigned> data_;
};

// Is it set? The answer orders, but does not permit to destroy the event.
class polled final : public model::program {
  void thread(unsigned index) override {
    if (index == 2) return flag_.wait_with_lock();
    if (index == 0) {
      data_.set(1);
      return flag_.change(true);
    }
    while (!flag_.is_set()) model::yield();
    model::require(data_.get() == 1, "is_set() does not order");
  }
  flag flag_;
  model::guarded<unsigned> data_;
};

// Some threads send one message each and set the event, which may be set already. The last thread
// waits, resets the event and looks for messages, until it has seen all of them. It would wait
// forever if a reset missed the message of a set() before it.
template <unsigned senders>
class messages final : public model::program {
  void thread(unsigned index) override {
    if (index < senders) {
      sent_[index].store(true, std::memory_order_relaxed);
      return flag_.change(true);
    }
    for (unsigned seen = 0; seen < senders;) {
      flag_.wait();
      flag_.change(false);
      seen = 0;
      for (unsigned i = 0; i < senders; ++i) seen += sent_[i].load(std::memory_order_relaxed);
    }
  }
  flag flag_;
  std::array<std::atomic<bool>, senders> sent_;
};

using model::make;
constexpr auto bounded = model::test::search::bounded;

const model::test tests[] = {
    {"state_lock event: the waiting thread destroys it", 2, make<wait_and_destroy<false, false>>,
     bounded},
    {"state_lock event: destroyed after a set() with the lock", 2,
     make<wait_and_destroy<true, false>>, bounded},
    {"state_lock event: destroyed after a wait with the lock", 2,
     make<wait_and_destroy<false, true>>, bounded},
    {"state_lock event: the last of two destroys it", 3, make<last_one_destroys>},
    {"state_lock event: set() against an operation that waits", 2, make<listed>, bounded},
    {"state_lock event: polled while another thread has the lock", 3, make<polled>},
    {"state_lock event: set, reset and one message", 2, make<messages<1>>, bounded},
    {"state_lock event: set, reset and two messages", 3, make<messages<2>>},
};

}  // namespace state_lock_event_model
