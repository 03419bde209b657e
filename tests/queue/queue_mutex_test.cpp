#include "leat/queue/detail/queue_mutex.hpp"

#include <atomic>
#include <thread>

#include "leat/queue/fifo_queue.hpp"
#include "support/leat_test.hpp"

namespace queue_mutex_test {

using leat::detail::queue_mutex;

/// Makes two threads lock it, so that it has no owner.
void share(queue_mutex& m) {
  m.unlock(m.lock());
  std::jthread([&m] { m.unlock(m.lock()); }).join();
}

/// A mutex that two threads have locked.
struct shared_mutex : queue_mutex {
  shared_mutex() : queue_mutex(true) { share(*this); }
  shared_mutex(std::size_t limit, std::size_t floor) : shared_mutex() { set_bounds(limit, floor); }
};

bool add_at_back(queue_mutex& m, std::size_t count) {
  return m.add_at_back(count, [](std::size_t) noexcept {});
}

bool remove_at_front(queue_mutex& m, std::size_t count) {
  return m.remove_at_front(count, [](std::size_t) noexcept {});
}

TEST_CASE("queue_mutex: a side can be changed alone after a second thread") {
  queue_mutex m(true);
  m.set_bounds(4, 0);
  CHECK(m.never_locked());
  CHECK_FALSE(add_at_back(m, 1));
  CHECK_FALSE(remove_at_front(m, 1));
  share(m);
  CHECK_FALSE(m.never_locked());
  bool other_side = false;  // while the back is locked
  CHECK(add_at_back(m, 2));
  CHECK(m.add_at_back(1, [&](std::size_t) noexcept { other_side = remove_at_front(m, 1); }));
  CHECK(other_side);
  CHECK(m.size() == 2);
}

TEST_CASE("queue_mutex: without bounds, no side adds or removes") {
  shared_mutex m;
  CHECK_FALSE(add_at_back(m, 1));
  m.add(5);
  CHECK_FALSE(remove_at_front(m, 1));
  CHECK(m.size() == 5);
}

TEST_CASE("queue_mutex: the sides keep the bounds") {
  shared_mutex m(4, 1);
  CHECK(add_at_back(m, 3));
  CHECK_FALSE(add_at_back(m, 2));
  CHECK(add_at_back(m, 1));
  CHECK_FALSE(add_at_back(m, 1));
  CHECK(remove_at_front(m, 2));
  CHECK_FALSE(remove_at_front(m, 2));
  CHECK(remove_at_front(m, 1));
  CHECK_FALSE(remove_at_front(m, 1));
  CHECK(add_at_back(m, 3));  // reads again how many have left
  CHECK(m.size() == 4);
  CHECK(m.entered() == 7);
  CHECK(m.peak() == 4);
}

TEST_CASE("queue_mutex: a floor of 0 leaves an empty queue") {
  shared_mutex m(4, 0);
  CHECK_FALSE(remove_at_front(m, 1));
  CHECK(add_at_back(m, 1));
  CHECK(remove_at_front(m, 1));
}

TEST_CASE("queue_mutex: returned items count against the bound at once") {
  shared_mutex m(4, 0);
  CHECK(add_at_back(m, 4));
  CHECK(remove_at_front(m, 3));
  CHECK(add_at_back(m, 1));  // the back knows now that 3 have left
  m.take_back(2);
  CHECK(m.size() == 4);
  CHECK_FALSE(add_at_back(m, 1));
  CHECK(remove_at_front(m, 4));
  CHECK_FALSE(remove_at_front(m, 1));
}

TEST_CASE("queue_mutex: returned items count towards the peak") {
  shared_mutex m(4, 0);
  CHECK(add_at_back(m, 4));
  CHECK(remove_at_front(m, 3));
  CHECK(add_at_back(m, 3));
  m.take_back(3);
  CHECK(m.size() == 7);
  CHECK(m.peak() == 7);
  CHECK(remove_at_front(m, 4));
  CHECK(add_at_back(m, 1));  // the higher peak does not raise the bound
  CHECK_FALSE(add_at_back(m, 1));
}

TEST_CASE("queue_mutex: a side sees what changed under the whole lock") {
  shared_mutex m(4, 0);
  m.add(3);
  CHECK(remove_at_front(m, 1));
  m.remove(2);  // more than the front has seen enter and leave
  m.add(1);
  m.remove(1);
  CHECK_FALSE(remove_at_front(m, 1));
  m.pass();
  CHECK_FALSE(remove_at_front(m, 1));
  CHECK(m.entered() == 5);
  CHECK(add_at_back(m, 4));
  CHECK_FALSE(add_at_back(m, 1));
}

TEST_CASE("queue_mutex: the peak is the largest size that a push has seen") {
  shared_mutex m(8, 0);
  for (int i = 0; i < 20; ++i) {
    CHECK(add_at_back(m, 2));
    CHECK(remove_at_front(m, 2));
  }
  CHECK(m.peak() == 2);
}

TEST_CASE("queue_mutex: the peak follows the items that are added under the whole lock") {
  shared_mutex m(8, 0);
  m.add(2);
  CHECK(m.peak() == 2);
  m.add(1);
  CHECK(m.peak() == 3);
  m.remove(3);
  m.pass();
  m.add(1);
  m.add(1);
  CHECK(m.peak() == 3);
  CHECK(m.size() == 2);
}

TEST_CASE("queue_mutex: a push below the peak needs no new count of the other side") {
  shared_mutex m(4, 0);
  CHECK(add_at_back(m, 3));
  CHECK(remove_at_front(m, 2));
  CHECK(add_at_back(m, 1));  // reads that 2 have left
  CHECK(add_at_back(m, 1));
  CHECK(m.size() == 3);
  CHECK(m.peak() == 3);
}

TEST_CASE("queue_mutex: excludes the sides and the whole lock") {
  queue_mutex m(true);
  m.set_bounds(queue_mutex::none, 0);
  long at_back = 0, at_front = 0;  // the whole lock changes both
  constexpr int rounds = 20'000;
  const auto use = [&](int kind) {
    for (int i = 0; i < rounds; ++i) {
      bool done = false;
      if (kind == 0) done = m.add_at_back(1, [&](std::size_t) noexcept { ++at_back; });
      if (kind == 1) done = m.remove_at_front(1, [&](std::size_t) noexcept { ++at_front; });
      if (!done) {
        const bool as_owner = m.lock();
        ++at_back;
        ++at_front;
        m.unlock(as_owner);
      }
    }
  };
  long whole = 0;
  {
    std::jthread back([&] { use(0); }), front([&] { use(1); }), all([&] { use(2); });
  }
  whole = at_back + at_front;
  CHECK(at_back >= 2 * rounds);
  CHECK(at_front >= 2 * rounds);
  CHECK(whole <= 6 * rounds);
}

// A thread that has locked the whole of it, and a visitor that enters in one of three ways.
bool overlap(bool is_shared, bool from_owner, int way) {
  queue_mutex m(true);
  m.set_bounds(4, 0);
  m.add(1);
  m.unlock(m.lock());  // this thread owns it
  if (is_shared) share(m);
  std::atomic<bool> is_inside = false, is_started = false, overlaps = false;
  const std::jthread holder([&] {
    const bool as_owner = m.lock();
    is_inside = true;
    // The visitor may run at any time from now on.
    for (int i = 0; i < 1000 || !is_started; ++i) std::this_thread::yield();
    is_inside = false;
    m.unlock(as_owner);
  });
  const auto visit = [&] {
    while (!is_inside) std::this_thread::yield();
    is_started = true;
    const auto look = [&](std::size_t) noexcept { overlaps = is_inside.load(); };
    if (way == 0 && m.add_at_back(1, look)) return;
    if (way == 1 && m.remove_at_front(1, look)) return;
    const bool as_owner = m.lock();
    look(0);
    m.unlock(as_owner);
  };
  if (from_owner) {
    visit();
  } else {
    std::jthread(visit).join();
  }
  return overlaps;
}

TEST_CASE("queue_mutex: a thread that holds the whole lock excludes all others") {
  for (const bool is_shared : {false, true}) {
    for (const bool from_owner : {false, true}) {
      for (const int way : {0, 1, 2}) {
        CAPTURE(is_shared, from_owner, way);
        CHECK_FALSE(overlap(is_shared, from_owner, way));
      }
    }
  }
}

TEST_CASE("queue_mutex: all threads that wait for the owner enter after it") {
  queue_mutex m(true);
  const bool as_owner = m.lock();
  std::atomic<int> arrived = 0, entered = 0;
  const auto enter = [&] {
    ++arrived;
    const bool how = m.lock();
    ++entered;
    m.unlock(how);
  };
  {
    const std::jthread one(enter), another(enter);
    // Both end the ownership if they are inside lock() before the owner leaves.
    for (int i = 0; i < 1000 || arrived < 2; ++i) std::this_thread::yield();
    CHECK(entered == 0);
    m.unlock(as_owner);
  }
  CHECK(entered == 2);
}

// ---- Queues that two threads share.

// A queue may be a variable of a coroutine.
static_assert(alignof(leat::fifo_queue<int>) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

TEST_CASE("queue_mutex: the bounds of a shared queue follow its state") {
  leat::fifo_queue<int> q(3);
  CHECK(q.try_push(1));
  std::jthread([&q] { CHECK(q.try_push(2)); }).join();
  CHECK(q.try_push(3));
  CHECK_FALSE(q.try_push(4));
  CHECK(q.try_pop() == 1);
  CHECK(q.try_push(4));
  q.close();
  CHECK_FALSE(q.try_push(5));
  for (const int i : {2, 3, 4}) CHECK(q.try_pop() == i);
  CHECK_FALSE(q.try_pop());
  CHECK(q.statistics().pushed == 4);
  CHECK(q.statistics().popped == 4);
  CHECK(q.statistics().peak_size == 3);
}

TEST_CASE("queue_mutex: a shared queue without a limit grows") {
  leat::fifo_queue<int> q(leat::unbounded);
  CHECK(q.try_push(0));
  std::jthread([&q] {
    for (int i = 1; i < 5000; ++i) CHECK(q.try_push(int{i}));
  }).join();
  for (int i = 0; i < 5000; ++i) CHECK(q.try_pop() == i);
  CHECK_FALSE(q.try_pop());
  CHECK(q.statistics().peak_size == 5000);
}

}  // namespace queue_mutex_test
