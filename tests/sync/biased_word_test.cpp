#include "leat/sync/detail/biased_word.hpp"

#include <atomic>
#include <thread>

#include "leat/async/loop/block_on.hpp"
#include "leat/sync/mutex.hpp"
#include "support/leat_test.hpp"

namespace biased_word_test {

using leat::detail::biased_mutex;
using leat::detail::biased_word;

void add_one(biased_word& w) {
  if (!w.admits()) w.admit();
  while (!w.change_as_owner([](biased_word::value& v) { ++v; })) {
    if (w.is_shared()) {
      w.shared().fetch_add(1, std::memory_order_relaxed);
      return;
    }
    std::this_thread::yield();  // another thread revokes the ownership
  }
}

TEST_CASE("biased_word: its first thread owns it, and a second one shares it") {
  biased_word w(7, true);
  CHECK_FALSE(w.admits());
  CHECK_FALSE(w.change_as_owner([](biased_word::value&) {}));
  add_one(w);
  CHECK(w.admits());
  CHECK(w.is_shared() == !biased_mutex::can_own());
  std::jthread([&] {
    CHECK(w.admits() == !biased_mutex::can_own());
    add_one(w);
    CHECK(w.is_shared());
  }).join();
  CHECK(w.admits());
  CHECK_FALSE(w.change_as_owner([](biased_word::value&) {}));
  add_one(w);
  CHECK(w.load(std::memory_order_relaxed) == 10);
}

TEST_CASE("biased_word: no thread owns a word that is shared from the start") {
  biased_word w(0, false);
  CHECK(w.admits());
  CHECK(w.is_shared());
  CHECK_FALSE(w.change_as_owner([](biased_word::value&) {}));
}

TEST_CASE("biased_word: no change is lost while threads share it") {
  constexpr int rounds = 200;
  constexpr biased_word::value each = 2'000;
  for (int round = 0; round < rounds; ++round) {
    biased_word w(0, true);
    std::atomic<biased_word::value> changed{0};
    const auto change = [&](biased_word::value after) {
      while (changed.load(std::memory_order_relaxed) < after) std::this_thread::yield();
      for (biased_word::value i = 0; i < each; ++i) {
        add_one(w);
        if (after == 0) changed.store(i + 1, std::memory_order_relaxed);
      }
    };
    {
      std::jthread owner([&] { change(0); });
      std::jthread second([&] { change(each / 2); }), third([&] { change(each / 2); });
    }
    REQUIRE(w.load(std::memory_order_relaxed) == 3 * each);
  }
}

TEST_CASE("mutex: excludes its first thread and others that arrive later") {
  constexpr int rounds = 100;
  constexpr long each = 500;
  for (int round = 0; round < rounds; ++round) {
    leat::mutex m;
    long visits = 0;
    std::atomic<long> visited{0};
    const auto visit = [&](long after) {
      while (visited.load(std::memory_order_relaxed) < after) std::this_thread::yield();
      for (long i = 0; i < each; ++i) {
        const auto guard = leat::block_on(m.lock());
        visited.store(++visits, std::memory_order_relaxed);
      }
    };
    {
      std::jthread owner([&] { visit(0); });
      std::jthread second([&] { visit(each / 2); }), third([&] { visit(each / 2); });
    }
    REQUIRE(visits == 3 * each);
    REQUIRE_FALSE(m.is_locked());
  }
}

}  // namespace biased_word_test
