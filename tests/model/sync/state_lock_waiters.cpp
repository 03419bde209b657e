// state_lock with operations that wait: they receive permits in the order of their arrival, a
// cancel removes one, and a short path overtakes none of them.

#include <array>
#include <memory>

#include "leat/sync/detail/state_lock.hpp"
#include "model/model.hpp"
#include "model/sync/give_or_lock.hpp"

namespace state_lock_waiters_model {

using leat::detail::state_lock;
using attempt = state_lock::attempt;
using word = state_lock::word;

enum outcome : unsigned { waiting, served, cancelled };

struct waiter {
  explicit waiter(word n = 1) : request(n) {}

  word request;
  model::guarded<waiter*> next{nullptr};  // by the lock
  std::atomic<unsigned> ended{waiting};
};

// A semaphore with `all` permits, whose operations wait in a list. With one permit, it uses the
// paths of a mutex.
template <word all, bool owned>
class queued_permits {
 public:
  // Returns false if the wait was cancelled.
  bool acquire(waiter& w) {
    word left = 0;
    const attempt a = all == 1 ? lock_.take_one() : lock_.take(w.request, left);
    if (a == attempt::done) {
      model::require(first_.get() == nullptr, "a short path overtook a waiting operation");
      lock_.leave(left);
      return true;
    }
    lock_.lock();
    if (first_.get() == nullptr && lock_.number() >= w.request) {
      lock_.set_number(lock_.number() - w.request);
      lock_.unlock(false);
      return true;
    }
    append(w);
    lock_.unlock(true);
    unsigned ended = waiting;
    while ((ended = w.ended.load(std::memory_order_acquire)) == waiting) model::yield();
    return ended == served;
  }

  void release(word n) {
    if (model::give_or_lock(lock_, n, all)) return;
    lock_.set_number(lock_.number() + n);
    serve_and_unlock(nullptr);
  }

  void cancel(waiter& w) {
    lock_.lock();
    const bool found = remove(w);
    serve_and_unlock(found ? &w : nullptr);
  }

  [[nodiscard]] bool is_unused() const { return lock_.is_simply(all) && first_.get() == nullptr; }

 private:
  // Wakes after the lock is released, since a woken thread may destroy the semaphore.
  void serve_and_unlock(waiter* removed) {
    std::array<waiter*, 4> woken{};
    unsigned count = 0;
    while (waiter* const w = first_.get()) {
      if (w->request > lock_.number()) break;
      lock_.set_number(lock_.number() - w->request);
      first_.set(w->next.get());
      woken[count++] = w;
    }
    lock_.unlock(first_.get() != nullptr);
    for (unsigned i = 0; i < count; ++i) woken[i]->ended.store(served, std::memory_order_release);
    if (removed != nullptr) removed->ended.store(cancelled, std::memory_order_release);
  }
  void append(waiter& w) {
    waiter* last = first_.get();
    if (last == nullptr) return first_.set(&w);
    while (waiter* const next = last->next.get()) last = next;
    last->next.set(&w);
  }
  bool remove(const waiter& w) {
    model::guarded<waiter*>* link = &first_;
    while (link->get() != nullptr && link->get() != &w) link = &link->get()->next;
    if (link->get() == nullptr) return false;
    link->set(w.next.get());
    return true;
  }

  state_lock lock_{all, owned};
  model::guarded<waiter*> first_{nullptr};
};

// Threads acquire and release. The first one acquires all permits, the others one. With `cancels`,
// the last thread cancels the waits of the first one instead.
template <unsigned threads, word all, bool cancels, bool owned = false>
class visitors final : public model::program {
 public:
  visitors() {
    for (waiter& w : waiters_[0]) w.request = all;
  }

 private:
  void thread(unsigned index) override {
    if (cancels && index == threads - 1) {
      for (waiter& w : waiters_[0]) permits_.cancel(w);
      return;
    }
    for (waiter& w : waiters_[index]) {
      if (!permits_.acquire(w)) continue;
      if (w.request == all) {
        data_.set(data_.get() + 1);
      } else {
        static_cast<void>(data_.get());
      }
      ++acquired_[index];
      permits_.release(w.request);
    }
  }
  void finish() override {
    unsigned visits = 0;
    for (unsigned i = 0; i < threads; ++i) {
      if (waiters_[i][0].request == all) visits += acquired_[i];
      const bool every_time = !cancels || (i != 0 && i != threads - 1);
      model::require(!every_time || acquired_[i] == 2, "a wait ended without a permit");
    }
    model::require(data_.get() == visits, "a visit was lost");
    model::require(permits_.is_unused(), "a permit is lost, or an operation still waits");
  }

  queued_permits<all, owned> permits_;
  std::array<std::array<waiter, 2>, threads> waiters_;
  std::array<unsigned, threads> acquired_{};
  model::guarded<unsigned> data_;
};

// The first thread holds the mutex. The last one that locks it destroys it, while the unlock of the
// others may not have returned.
template <unsigned threads, bool owned = false>
class last_one_destroys final : public model::program {
 public:
  last_one_destroys() {
    model::checks_destruction = true;
    mutex_ = std::make_unique<queued_permits<1, owned>>();
    mutex_->acquire(waiters_[0]);
  }

 private:
  void thread(unsigned index) override {
    if (index != 0) mutex_->acquire(waiters_[index]);
    visits_.set(visits_.get() + 1);
    const bool last = visits_.get() == threads;
    mutex_->release(1);
    if (last) mutex_.reset();
  }

  std::unique_ptr<queued_permits<1, owned>> mutex_;
  std::array<waiter, threads> waiters_;
  model::guarded<unsigned> visits_;
};

using model::make;
constexpr auto bounded = model::test::search::bounded;

const model::test tests[] = {
    {"state_lock waiters: two threads", 2, make<visitors<2, 1, false>>, bounded},
    {"state_lock waiters: three threads", 3, make<visitors<3, 1, false>>},
    {"state_lock waiters: hand-over against a cancel", 3, make<visitors<3, 1, true>>},
    {"state_lock waiters: two permits at once", 3, make<visitors<3, 2, false>>},
    {"state_lock waiters: two permits at once against a cancel", 3, make<visitors<3, 2, true>>},
    {"state_lock waiters: the next holder destroys it", 2, make<last_one_destroys<2>>, bounded},
    {"state_lock waiters: the last of three holders destroys it", 3, make<last_one_destroys<3>>},
};

const model::fenced_test<visitors<2, 1, false, true>> owned_two(
    "state_lock waiters: owned, two threads", 2);
const model::fenced_test<visitors<3, 1, true, true>> owned_cancel(
    "state_lock waiters: owned, hand-over against a cancel", 3);
const model::fenced_test<visitors<3, 2, false, true>> owned_permits(
    "state_lock waiters: owned, two permits at once", 3);
const model::fenced_test<last_one_destroys<2, true>> owned_destroyed(
    "state_lock waiters: owned, the next holder destroys it", 2);

}  // namespace state_lock_waiters_model
