// Short random histories on real threads: what the threads saw can be explained by some order of
// their operations, each between its call and its return. LEAT_HISTORIES says how many histories
// (10,000); `./dev campaign histories` takes 1,000,000.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/core/random.hpp"
#include "leat/sync/fifo_queue.hpp"

namespace linearizability_test {

constexpr std::size_t threads = 4;
constexpr std::size_t operations_each = 3;
constexpr std::size_t capacity = 2;

enum class kind { push, pop, size, close };

struct operation {
  kind what = kind::pop;
  int value = 0;
  std::uint64_t called = 0;  // of a clock that all share
  std::uint64_t returned = 0;
  int result = 0;  // push: in or not; pop: the item or -1; size: it; close: the first or not
};

// The queue as it should be.
struct model {
  std::deque<int> items;
  bool closed = false;

  int apply(const operation& o) {
    switch (o.what) {
      case kind::push:
        if (closed || items.size() == capacity) return 0;
        items.push_back(o.value);
        return 1;
      case kind::pop: {
        if (items.empty()) return -1;
        const int item = items.front();
        items.pop_front();
        return item;
      }
      case kind::size: return static_cast<int>(items.size());
      case kind::close: return std::exchange(closed, true) ? 0 : 1;
    }
    return 0;
  }
};

// Depth first: any operation may come next that was called before all that are left returned.
bool explainable(const std::vector<operation>& history, std::uint32_t done, const model& state) {
  if (done == (1U << history.size()) - 1) return true;
  std::uint64_t first_return = UINT64_MAX;
  for (std::size_t i = 0; i < history.size(); ++i) {
    if ((done >> i & 1U) == 0) first_return = std::min(first_return, history[i].returned);
  }
  for (std::size_t i = 0; i < history.size(); ++i) {
    if ((done >> i & 1U) != 0 || history[i].called > first_return) continue;
    model next = state;
    if (next.apply(history[i]) != history[i].result) continue;
    if (explainable(history, done | 1U << i, next)) return true;
  }
  return false;
}

// Threads that go through many rounds together: one history each.
class recorder {
 public:
  explicit recorder(std::uint64_t seed) : seed_(seed) {
    for (std::size_t t = 0; t < threads; ++t) {
      workers_.emplace_back([this, t](const std::stop_token& stop) { work(t, stop); });
    }
  }
  ~recorder() {
    for (auto& w : workers_) w.request_stop();
  }

  std::vector<operation> record() {
    queue_.emplace(capacity);
    finished_ = 0;
    ++round_;
    while (finished_ != threads) std::this_thread::yield();
    std::vector<operation> history;
    for (const auto& part : parts_) history.insert(history.end(), part.begin(), part.end());
    return history;
  }

 private:
  void work(std::size_t self, const std::stop_token& stop) {
    leat::random_engine random(seed_ * threads + self);
    for (std::uint64_t seen = 0;;) {
      while (round_ == seen) {
        if (stop.stop_requested()) return;
        std::this_thread::yield();
      }
      ++seen;
      for (operation& o : parts_[self]) {
        const std::uint64_t which = random.below(10);
        o.what = which < 5   ? kind::push
                 : which < 8 ? kind::pop
                 : which < 9 ? kind::size
                             : kind::close;
        o.value = static_cast<int>(self * 100 + random.below(100));
        o.called = clock_++;
        o.result = perform(o);
        o.returned = clock_++;
      }
      ++finished_;
    }
  }

  int perform(const operation& o) {
    switch (o.what) {
      case kind::push: return queue_->try_push(o.value) ? 1 : 0;
      case kind::pop: return queue_->try_pop().value_or(-1);
      case kind::size: return static_cast<int>(queue_->size());
      case kind::close: return queue_->close() ? 1 : 0;
    }
    return 0;
  }

  const std::uint64_t seed_;
  std::optional<leat::fifo_queue<int>> queue_;
  std::array<std::array<operation, operations_each>, threads> parts_{};
  std::atomic<std::uint64_t> clock_{0};
  std::atomic<std::uint64_t> round_{0};
  std::atomic<std::size_t> finished_{0};
  std::vector<std::jthread> workers_;  // last: they use the rest
};

TEST_CASE("linearizability: a model that is wrong is noticed", "[stress]") {
  const std::vector<operation> lost{{kind::push, 1, 0, 1, 1}, {kind::pop, 0, 2, 3, -1}};
  CHECK_FALSE(explainable(lost, 0, {}));
  const std::vector<operation> overlapping{{kind::push, 1, 0, 3, 1}, {kind::pop, 0, 1, 2, -1}};
  CHECK(explainable(overlapping, 0, {}));
}

TEST_CASE("linearizability: histories of four threads on a queue", "[stress]") {
  const char* const wanted = std::getenv("LEAT_HISTORIES");
  const int histories = wanted ? std::atoi(wanted) : 10'000;
  recorder r(1);
  for (int i = 0; i < histories; ++i) {
    const std::vector<operation> history = r.record();
    INFO("history " << i);
    REQUIRE(explainable(history, 0, {}));
  }
}

}  // namespace linearizability_test
