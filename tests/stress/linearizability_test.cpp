// Short random histories on real threads: what the threads saw can be explained by some order of
// their operations, each between its call and its return. Queues of each order, by operations that
// never wait and by those that block their thread; when all wait, an item is taken or the queue
// closed.
// LEAT_HISTORIES says how many histories of each (10,000); `./dev campaign histories` takes
// 1,000,000.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/core/random.hpp"
#include "leat/sync/fifo_queue.hpp"
#include "leat/sync/priority_queue.hpp"
#include "leat/sync/random_shuffle_queue.hpp"

namespace linearizability_test {

constexpr std::size_t threads = 4;
constexpr std::size_t operations_each = 3;
constexpr std::size_t capacity = 2;

enum class kind { push, pop, wait_push, wait_pop, size, close };

struct operation {
  kind what = kind::pop;
  int value = 0;
  std::uint64_t called = 0;  // of a clock that all share
  std::uint64_t returned = 0;
  int result = 0;  // push: in or not; pop: the item or -1; size: it; close: the first or not
};

enum class order { entry, smallest, any };

using history = std::vector<operation>;

// The queue as it should be, among the operations of a history of which those in `done` have had
// their effect.
struct model {
  order gives = order::entry;
  std::size_t min_left = 0;  // that stay in while it is open
  std::vector<int> items = {};
  bool closing = false;  // a close has been asked for
  bool closed = false;   // and has its effect: behind the pushes that waited before it
  std::uint64_t close_returned = UINT64_MAX;

  // Does it, if it can have this result now. What waits has its effect when it need not any more.
  bool explains(const operation& o, const history& all, std::uint32_t done) {
    switch (o.what) {
      case kind::push:
        if (o.result == 0) return closing || items.size() == capacity;
        if (closing || items.size() == capacity) return false;
        items.push_back(o.value);
        return true;
      case kind::wait_push:
        if (o.result == 0) return closed;
        if (closed || items.size() == capacity || o.called > close_returned) return false;
        items.push_back(o.value);
        closed = closing && !push_is_left(all, done);
        return true;
      case kind::pop:
      case kind::wait_pop:
        if (items.size() <= (closed ? 0 : min_left)) {
          return o.result == -1 && (closed || o.what == kind::pop);
        }
        return take(o.result);
      case kind::size: return o.result == static_cast<int>(items.size());
      case kind::close:
        if (o.result == (closing ? 1 : 0)) return false;
        if (closing) return true;
        closing = true;
        close_returned = o.returned;
        closed = !push_is_left(all, done);
        return closed || items.size() == capacity;  // nobody waits with a push where there is room
    }
    return false;
  }

 private:
  // Whether one that waits will go in.
  static bool push_is_left(const history& all, std::uint32_t done) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool waits = all[i].what == kind::wait_push && all[i].result == 1;
      if (waits && (done >> i & 1U) == 0) return true;
    }
    return false;
  }

  bool take(int item) {
    auto next = items.begin();
    if (gives == order::smallest) next = std::min_element(items.begin(), items.end());
    if (gives == order::any) next = std::find(items.begin(), items.end(), item);
    if (next == items.end() || *next != item) return false;
    items.erase(next);
    return true;
  }
};

// Depth first: any operation may come next that was called before all that are left returned.
bool explainable(const history& all, std::uint32_t done, const model& state) {
  if (done == (1U << all.size()) - 1) return true;
  std::uint64_t first_return = UINT64_MAX;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if ((done >> i & 1U) == 0) first_return = std::min(first_return, all[i].returned);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if ((done >> i & 1U) != 0 || all[i].called > first_return) continue;
    model next = state;
    const std::uint32_t then = done | 1U << i;
    if (next.explains(all[i], all, then) && explainable(all, then, next)) return true;
  }
  return false;
}

struct fifo {
  using queue = leat::fifo_queue<int>;
  static constexpr order gives = order::entry;
  static constexpr std::size_t min_left = 0;
  static leat::queue_options options() { return {.capacity = capacity}; }
};
struct priority {
  using queue = leat::priority_queue<int>;
  static constexpr order gives = order::smallest;
  static constexpr std::size_t min_left = 0;
  static leat::queue_options options() { return {.capacity = capacity}; }
};
struct shuffle {
  using queue = leat::random_shuffle_queue<int>;
  static constexpr order gives = order::any;
  static constexpr std::size_t min_left = 1;
  static leat::shuffle_options options() {
    return {.capacity = capacity, .min_after_dequeue = min_left, .seed = 1};
  }
};

// Threads that go through many rounds together: one history each.
template <class Tested>
class recorder {
 public:
  // With `waits` most operations block until they can be done.
  recorder(std::uint64_t seed, bool waits) : seed_(seed), waits_(waits) {
    for (std::size_t t = 0; t < threads; ++t) {
      workers_.emplace_back([this, t](const std::stop_token& stop) { work(t, stop); });
    }
  }
  ~recorder() {
    for (auto& w : workers_) w.request_stop();
  }

  history record() {
    queue_.emplace(Tested::options());
    finished_ = 0;
    ++round_;
    history all;
    while (finished_ != threads) {
      if (waits_) help(all);
      std::this_thread::yield();
    }
    if (!all.empty()) ++stuck_;
    for (const auto& part : parts_) all.insert(all.end(), part.begin(), part.end());
    return all;
  }

  // Histories in which all waited.
  [[nodiscard]] int stuck() const noexcept { return stuck_; }

 private:
  // Where nobody can go on: takes an item for those who push, closes for those who pop.
  void help(history& all) {
    const std::size_t finished = finished_;  // first: who waits now has not finished since
    const auto s = queue_->statistics();
    if (finished == threads || s.waiting_pops + s.waiting_pushes + finished != threads) return;
    operation& o = all.emplace_back();
    o.what = s.waiting_pushes > 0 ? kind::pop : kind::close;
    carry_out(o);
  }

  void work(std::size_t self, const std::stop_token& stop) {
    leat::random_engine random(seed_ * threads + self);
    for (std::uint64_t seen = 0;;) {
      while (round_ == seen) {
        if (stop.stop_requested()) return;
        std::this_thread::yield();
      }
      ++seen;
      for (operation& o : parts_[self]) {
        o.what = any_kind(random);
        o.value = static_cast<int>(self * 100 + random.below(100));
        carry_out(o);
      }
      ++finished_;
    }
  }

  kind any_kind(leat::random_engine& random) const {
    const bool wait = waits_ && random.below(4) != 0;
    const std::uint64_t which = random.below(waits_ ? 19 : 10);
    if (which == 8) return kind::size;
    if (which == 9) return kind::close;
    if (which < 5 || which >= 15) return wait ? kind::wait_push : kind::push;
    return wait ? kind::wait_pop : kind::pop;
  }

  void carry_out(operation& o) {
    o.called = clock_++;
    o.result = perform(o);
    o.returned = clock_++;
  }

  int perform(const operation& o) {
    switch (o.what) {
      case kind::push: return queue_->try_push(o.value) ? 1 : 0;
      case kind::pop: return queue_->try_pop().value_or(-1);
      case kind::wait_push: return queue_->wait_push(o.value) ? 1 : 0;
      case kind::wait_pop: return queue_->wait_pop().value_or(-1);
      case kind::size: return static_cast<int>(queue_->size());
      case kind::close: return queue_->close() ? 1 : 0;
    }
    return 0;
  }

  const std::uint64_t seed_;
  const bool waits_;
  std::optional<typename Tested::queue> queue_;
  std::array<std::array<operation, operations_each>, threads> parts_{};
  std::atomic<std::uint64_t> clock_{0};
  std::atomic<std::uint64_t> round_{0};
  std::atomic<std::size_t> finished_{0};
  int stuck_ = 0;
  std::vector<std::jthread> workers_;  // last: they use the rest
};

TEST_CASE("linearizability: a model that is wrong is noticed", "[stress]") {
  const history lost{{kind::push, 1, 0, 1, 1}, {kind::pop, 0, 2, 3, -1}};
  CHECK_FALSE(explainable(lost, 0, {}));
  const history overlapping{{kind::push, 1, 0, 3, 1}, {kind::pop, 0, 1, 2, -1}};
  CHECK(explainable(overlapping, 0, {}));
  // Who waits gives up for a close only, and goes on as soon as it can.
  const history gave_up{{kind::wait_pop, 0, 0, 3, -1}, {kind::close, 0, 4, 5, 1}};
  CHECK_FALSE(explainable(gave_up, 0, {}));
  const history closed{{kind::wait_pop, 0, 0, 3, -1}, {kind::close, 0, 1, 2, 1}};
  CHECK(explainable(closed, 0, {}));
  const history full{{kind::push, 2, 0, 1, 1},
                     {kind::push, 1, 2, 3, 1},
                     {kind::wait_push, 3, 4, 7, 1},
                     {kind::wait_pop, 0, 5, 6, 1}};
  CHECK(explainable(full, 0, {order::smallest}));
  CHECK(explainable(full, 0, {order::any, 1}));
  CHECK_FALSE(explainable(full, 0, {order::entry}));
  CHECK_FALSE(explainable(full, 0, {order::any, 2}));
  // A push that waits goes in before a close, one that comes behind it does not.
  const auto closed_meanwhile = [](std::uint64_t pushed, int in) {
    return history{
        {kind::push, 1, 0, 1, 1},  {kind::push, 2, 2, 3, 1}, {kind::wait_push, 3, pushed, 9, in},
        {kind::close, 0, 5, 6, 1}, {kind::pop, 0, 7, 8, 1},  {kind::push, 4, 10, 11, 0}};
  };
  CHECK(explainable(closed_meanwhile(4, 1), 0, {}));
  CHECK(explainable(closed_meanwhile(4, 0), 0, {}));  // called before, and in line behind it
  CHECK_FALSE(explainable(closed_meanwhile(7, 1), 0, {}));
  CHECK(explainable(closed_meanwhile(7, 0), 0, {}));
}

template <class Tested>
void check_histories(bool waits) {
  const char* const wanted = std::getenv("LEAT_HISTORIES");
  const int histories = wanted ? std::atoi(wanted) : 10'000;
  recorder<Tested> r(1, waits);
  for (int i = 0; i < histories; ++i) {
    const history all = r.record();
    INFO("history " << i);
    REQUIRE(explainable(all, 0, {Tested::gives, Tested::min_left}));
  }
  if (waits) {  // some were stuck, and some were not
    CHECK(r.stuck() > histories / 100);
    CHECK(r.stuck() < histories);
  }
}

TEST_CASE("linearizability: histories of four threads on a queue", "[stress]") {
  check_histories<fifo>(false);
}
TEST_CASE("linearizability: histories of four threads that wait for a queue", "[stress]") {
  check_histories<fifo>(true);
}
TEST_CASE("linearizability: histories of four threads on a priority_queue", "[stress]") {
  check_histories<priority>(false);
}
TEST_CASE("linearizability: histories of four threads that wait for a priority_queue", "[stress]") {
  check_histories<priority>(true);
}
TEST_CASE("linearizability: histories of four threads on a random_shuffle_queue", "[stress]") {
  check_histories<shuffle>(false);
}
TEST_CASE("linearizability: histories of four threads that wait for a random_shuffle_queue",
          "[stress]") {
  check_histories<shuffle>(true);
}

}  // namespace linearizability_test
