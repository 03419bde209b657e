#pragma once

#include <source_location>
#include <type_traits>

#include "leat/queue.hpp"
#include "leat/sync.hpp"
#include "support/leat_test.hpp"
#include "sync/own_operations.hpp"

namespace leat_test {

/// Returns true if the guard holds something.
template <class Guard>
[[nodiscard]] bool holds(const Guard& guard) {
  return static_cast<bool>(guard);
}

/// Calls a blocking operation. Returns true if it completed with a result.
template <class Call>
bool completes(Call call) {
  if constexpr (std::is_void_v<decltype(call())>) {
    return call(), true;
  } else {
    return static_cast<bool>(call());
  }
}

// The two forms of an operation that a thread's event loop runs: awaited and with a completion
// token.
#define LEAT_TEST_FORMS(object, verb, ...)                                             \
  auto wait(std::source_location where = std::source_location::current()) {            \
    return object.verb(__VA_ARGS__ __VA_OPT__(, ) where);                              \
  }                                                                                    \
  template <class Token>                                                               \
  auto async_wait(Token&& token) {                                                     \
    return object.async_##verb(__VA_ARGS__ __VA_OPT__(, ) std::forward<Token>(token)); \
  }

// Blocks a thread in the operation of a kind. Returns true if it has a result.
template <class Kind, class... Limits>
bool block_in(Kind& kind, Limits&&... limits) {
  return completes([&] { return leat::block_on(kind.wait(), std::forward<Limits>(limits)...); });
}

// The operations that wait and can be undone, under one interface:
//
//     auto wait(where);                // the operation, which has to wait at first
//     auto async_wait(token);
//     void wake();                     // serves the operation
//     bool remains();                  // after wake(): another operation can still complete

struct waiting_acquire {
  static constexpr const char* words = "acquire semaphore 'thing'";
  using guard = leat::semaphore::guard;
  leat::semaphore object{1, "thing"};
  guard held = object.try_acquire();

  LEAT_TEST_FORMS(object, acquire, 1)
  void wake() { held = guard(); }
  bool remains() { return holds(object.try_acquire()); }
};

template <class Mutex>
struct waiting_lock {
  static constexpr const char* words =
      std::is_same_v<Mutex, leat::mutex> ? "lock mutex 'thing'" : "lock shared_mutex 'thing'";
  using guard = typename Mutex::guard;
  Mutex object{"thing"};
  guard held = object.try_lock();

  LEAT_TEST_FORMS(object, lock)
  void wake() { held = guard(); }
  bool remains() { return holds(object.try_lock()); }
};

struct waiting_shared_lock {
  static constexpr const char* words = "lock_shared shared_mutex 'thing'";
  using guard = leat::shared_mutex::shared_guard;
  leat::shared_mutex object{"thing"};
  leat::shared_mutex::guard held = object.try_lock();

  LEAT_TEST_FORMS(object, lock_shared)
  void wake() { held = leat::shared_mutex::guard(); }
  bool remains() { return holds(object.try_lock()); }
};

struct waiting_for_event {
  static constexpr const char* words = "wait for event 'thing'";
  leat::event object{"thing"};

  LEAT_TEST_FORMS(object, wait)
  void wake() { object.set(); }
  bool remains() { return object.is_set(); }
};

struct waiting_for_notification {
  static constexpr const char* words = "wait for notification 'thing'";
  leat::notification object{"thing"};

  LEAT_TEST_FORMS(object, wait)
  void wake() { object.notify(); }
  bool remains() { return object.try_wait(); }
};

struct waiting_for_change {
  static constexpr const char* words = "wait for a change of watch 'thing'";
  leat::watch<int> object{1, "thing"};

  LEAT_TEST_FORMS(object, changed, 0)
  void wake() { object.set(2); }
  bool remains() { return object.try_changed(0).has_value(); }
};

struct waiting_receive {
  static constexpr const char* words = "receive from oneshot 'thing'";
  leat::oneshot<std::unique_ptr<int>> object{"thing"};

  LEAT_TEST_FORMS(object.rx, receive)
  void wake() { static_cast<void>(object.tx.send(std::make_unique<int>(1))); }
  bool remains() { return object.rx.try_receive().has_value(); }
};

struct waiting_for_receiver {
  static constexpr const char* words = "wait for the receiver of oneshot 'thing'";
  leat::oneshot<int> object{"thing"};

  auto wait(std::source_location where = std::source_location::current()) {
    return object.tx.closed(where);
  }
  void wake() { object.rx = {}; }
  bool remains() { return object.tx.is_closed(); }
};

struct waiting_next {
  static constexpr const char* words = "receive from broadcast 'thing'";
  leat::broadcast<int> object{1, "thing"};
  leat::broadcast<int>::receiver receiver = object.subscribe();

  LEAT_TEST_FORMS(receiver, next)
  void wake() { object.try_send(1); }
  bool remains() { return receiver.try_next().has_value(); }
};

struct waiting_take {
  static constexpr const char* words = "take from ticket_box 'thing'";
  ticket_box object{"thing"};

  LEAT_TEST_FORMS(object, take)
  void wake() { object.give(); }
  bool remains() { return object.try_take(); }
};

struct waiting_pop {
  static constexpr const char* words = "pop from queue 'thing'";
  leat::fifo_queue<std::unique_ptr<int>> object{1, "thing"};

  LEAT_TEST_FORMS(object, pop)
  void wake() { static_cast<void>(object.try_push(std::make_unique<int>(1))); }
  bool remains() { return object.try_pop().has_value(); }
};

#define LEAT_TEST_WAITS_FOR_LOCKS                                   \
  leat_test::waiting_acquire, leat_test::waiting_lock<leat::mutex>, \
      leat_test::waiting_lock<leat::shared_mutex>
#define LEAT_TEST_WAITS_OF_ALL_FORMS                                                       \
  LEAT_TEST_WAITS_FOR_LOCKS, leat_test::waiting_shared_lock, leat_test::waiting_for_event, \
      leat_test::waiting_for_change, leat_test::waiting_receive, leat_test::waiting_next,  \
      leat_test::waiting_for_notification, leat_test::waiting_take, leat_test::waiting_pop
#define LEAT_TEST_WAITS LEAT_TEST_WAITS_OF_ALL_FORMS, leat_test::waiting_for_receiver

}  // namespace leat_test
