// biased_mutex: the owner locks it without an atomic instruction until another thread locks it.
//
// Each program runs under both models of the one-sided fence, since neither contains the other.

#include <optional>

#include "leat/base/internal/biased_mutex.hpp"

#include "model/model.hpp"

namespace biased_mutex_model {

using model::fence_model;

// Threads that visit the data of a mutex.
class visiting : public model::program {
 protected:
  void count_visit() { count_.set(count_.get() + 1); }
  void visit(leat::detail::biased_mutex& mutex) {
    const leat::detail::biased_lock lock(mutex);
    count_visit();
  }
  void require_visits(unsigned expected) const {
    model::require(count_.get() == expected, "a visit was lost");
  }

 private:
  model::guarded<unsigned> count_;
};

// All threads lock at the same time. Any of them may become the owner. A revocation may find the
// owner outside, inside or on its way in.
template <unsigned threads, unsigned visits>
class visitors final : public visiting {
  void thread(unsigned) override {
    for (unsigned i = 0; i < visits; ++i) visit(mutex_);
  }
  void finish() override { require_visits(threads * visits); }

  leat::detail::biased_mutex mutex_;
};

// The first thread becomes the owner before the others begin. It locks again through
// try_lock_as_owner(), as the fast path of a queue does.
template <unsigned threads>
class revocation final : public visiting {
  static constexpr unsigned visits = 3;

  void thread(unsigned index) override {
    if (index == 0) {
      visit(mutex_);
      owned_.store(true, std::memory_order_relaxed);
      for (unsigned i = 1; i < visits; ++i) {
        if (mutex_.try_lock_as_owner()) {
          count_visit();
          mutex_.unlock(true);
        } else {
          visit(mutex_);
        }
      }
    } else {
      // Relaxed: the thread needs to know that there is an owner, not to see the owner's writes.
      for (int i = 0; i < 20 && !owned_.load(std::memory_order_relaxed); ++i) model::yield();
      visit(mutex_);
    }
  }
  void finish() override { require_visits(visits + threads - 1); }

  leat::detail::biased_mutex mutex_;
  std::atomic<bool> owned_{false};
};

// The first thread owns the mutex from its construction and gives it up after its first visit,
// while another thread may be about to revoke it.
template <unsigned threads>
class surrender final : public visiting {
  static constexpr unsigned visits = 2;

  void thread(unsigned index) override {
    if (index == 0) {
      mutex_.emplace(leat::detail::biased_mutex::this_thread());
      constructed_.store(true, std::memory_order_release);
      visit(*mutex_);
      mutex_->give_up();
      visit(*mutex_);
    } else {
      for (int i = 0; i < 20 && !constructed_.load(std::memory_order_acquire); ++i) model::yield();
      if (!constructed_.load(std::memory_order_acquire)) return;
      visit(*mutex_);
      visited_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  void finish() override { require_visits(visits + visited_.load(std::memory_order_relaxed)); }

  std::optional<leat::detail::biased_mutex> mutex_;
  std::atomic<bool> constructed_{false};
  std::atomic<unsigned> visited_{0};
};

constexpr auto bounded = model::test::search::bounded;

const model::fenced_test<visitors<2, 2>> two("biased_mutex: two threads", 2, bounded);
const model::fenced_test<visitors<3, 2>> three("biased_mutex: three threads", 3);
const model::fenced_test<revocation<2>> one("biased_mutex: the owner against a revoking thread", 2,
                                            bounded);
const model::fenced_test<revocation<3>> both("biased_mutex: the owner against two revoking threads",
                                             3);
const model::fenced_test<surrender<2>> gives_up("biased_mutex: an owner that gives up", 2, bounded);
const model::test gives_up_two("biased_mutex: an owner that gives up to two threads", 3,
                               model::make_under<surrender<3>, fence_model::two_fences>);

}  // namespace biased_mutex_model
