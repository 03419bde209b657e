// state_lock: the lock and the number of a primitive in one word. Threads take and give the number
// without the lock, while others hold the lock.

#include "leat/sync/detail/state_lock.hpp"

#include <array>

#include "model/model.hpp"
#include "model/sync/give_or_lock.hpp"

namespace state_lock_model {

using leat::detail::state_lock;
using attempt = state_lock::attempt;
using word = state_lock::word;

// The number of a semaphore without waiting operations. A thread whose short path does not apply
// takes the lock. The record stands for the holder that a dump names: a short path writes it before
// it leaves, and a dump reads it under the lock.
class permits {
 public:
  explicit permits(word all, bool may_be_owned = false) : all_(all), lock_(all, may_be_owned) {}

  // Returns false if too few are free.
  bool take(word n, unsigned who) {
    word left = 0;
    const attempt a = n == 1 && all_ == 1 ? lock_.take_one() : lock_.take(n, left);
    if (a == attempt::done) {
      model::require(!closed_.get(), "a short path succeeded after the close");
      record_.set(who);
      lock_.leave(left);
      return true;
    }
    if (a == attempt::refused) return false;
    lock_.lock();
    const bool taken = !closed_.get() && lock_.number() >= n;
    if (taken) {
      lock_.set_number(lock_.number() - n);
      record_.set(who);
    }
    lock_.unlock(false);
    return taken;
  }

  void give(word n) {
    if (model::give_or_lock(lock_, n, all_)) return;
    lock_.set_number(lock_.number() + n);
    lock_.unlock(false);
  }

  void close() {
    lock_.lock();
    closed_.set(true);
    lock_.make_general();
    lock_.unlock(false);
  }

  // Reads the record. Unless it may wait, it does nothing while another thread has the lock.
  void dump(bool may_wait) {
    if (may_wait) {
      lock_.lock();
    } else if (!lock_.try_lock()) {
      return;
    }
    const unsigned who = record_.get();  // before number(), which orders too
    model::require(lock_.number() == all_ || who != nobody, "a holder has no record");
    lock_.unlock(false);
  }

  [[nodiscard]] bool all_are_free() const { return lock_.number() == all_; }
  [[nodiscard]] bool has_short_paths() const { return lock_.is_simply(all_); }

 private:
  static constexpr unsigned nobody = 99;

  const word all_;
  state_lock lock_;
  model::guarded<unsigned> record_{nobody};
  model::guarded<bool> closed_{false};
};

// `holders` threads take the number 1, write data that it protects, and give it back. Another
// thread dumps.
template <unsigned holders, unsigned rounds, bool owned = false>
class holding final : public model::program {
  void thread(unsigned index) override {
    for (unsigned i = 0; i < rounds; ++i) {
      if (index == holders) {
        permits_.dump(i == 0);
      } else if (permits_.take(1, index)) {
        visits_.set(visits_.get() + 1);
        ++taken_[index];
        permits_.give(1);
      }
    }
  }
  void finish() override {
    unsigned sum = 0;
    for (const unsigned n : taken_) sum += n;
    model::require(visits_.get() == sum, "a visit was lost");
    model::require(permits_.has_short_paths(), "the number was lost");
  }

  permits permits_{1, owned};
  model::guarded<unsigned> visits_;
  std::array<unsigned, 3> taken_{};
};

// Two readers take 1 of 2 permits, and a writer takes both of them.
template <bool owned = false>
class sharing final : public model::program {
  void thread(unsigned index) override {
    for (unsigned i = 0; i < 2; ++i) {
      const word n = index == 0 ? 2 : 1;
      if (!permits_.take(n, index)) continue;
      if (index == 0) {
        data_.set(i + 1);
      } else {
        model::require(data_.get() <= 2, "a reader saw no value of the writer");
      }
      permits_.give(n);
    }
  }
  void finish() override { model::require(permits_.has_short_paths(), "a permit was lost"); }

  permits permits_{2, owned};
  model::guarded<unsigned> data_;
};

// One thread closes, while the others take and give. Its own short paths have then ended too.
template <unsigned threads, bool owned = false>
class closing final : public model::program {
  void thread(unsigned index) override {
    if (index == 0) {
      permits_.close();
      model::require(!permits_.take(1, index), "took a permit after the close");
      return;
    }
    for (unsigned i = 0; i < 2; ++i) {
      if (permits_.take(index, index)) permits_.give(index);
    }
  }
  void finish() override {
    model::require(permits_.all_are_free(), "a permit was lost");
    model::require(!permits_.has_short_paths(), "a short path is possible after the close");
  }

  permits permits_{2, owned};
};

// Two threads take the only permit and keep it. The one that is refused sees what the other did
// before.
template <bool one, bool owned = false>
class refusal final : public model::program {
  void thread(unsigned index) override {
    before_[index].set(1);
    word left = 0;
    const attempt a = one ? lock_.take_one() : lock_.take(1, left);
    if (a == attempt::done) lock_.leave(left);
    if (a == attempt::refused) model::require(before_[1 - index].get() == 1, "refused too early");
  }
  state_lock lock_{1, owned};
  std::array<model::guarded<unsigned>, 2> before_;
};

using model::make;
constexpr auto bounded = model::test::search::bounded;

const model::test tests[] = {
    {"state_lock: one holder and a dump", 2, make<holding<1, 2>>, bounded},
    {"state_lock: two holders", 2, make<holding<2, 2>>, bounded},
    {"state_lock: two holders and a dump", 3, make<holding<2, 2>>},
    {"state_lock: a refused thread sees what the holder did", 2, make<refusal<true>>, bounded},
    {"state_lock: a refused take sees what the holder did", 2, make<refusal<false>>, bounded},
    {"state_lock: two readers and a writer", 3, make<sharing<>>},
    {"state_lock: close against take and give", 2, make<closing<2>>, bounded},
    {"state_lock: close against two threads", 3, make<closing<3>>},
};

const model::fenced_test<holding<1, 2, true>> owned_dump("state_lock: owned, a dump", 2);
const model::fenced_test<holding<2, 2, true>> owned_two("state_lock: owned, two holders", 2);
const model::fenced_test<holding<2, 2, true>> owned_both(
    "state_lock: owned, two holders and a dump", 3);
const model::fenced_test<refusal<true, true>> owned_refusal("state_lock: owned, refused", 2);
const model::fenced_test<refusal<false, true>> owned_take("state_lock: owned, refused take", 2);
const model::fenced_test<sharing<true>> owned_readers("state_lock: owned, two readers and a writer",
                                                      3);
const model::fenced_test<closing<2, true>> owned_close("state_lock: owned, close", 2);

}  // namespace state_lock_model
