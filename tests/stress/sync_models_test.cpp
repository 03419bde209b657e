// The models that judge histories of primitives accept correct histories and reject wrong ones.
// Each kind of operation is tested with one error.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "stress/recorded_channels.hpp"
#include "stress/recorded_locks.hpp"
#include "stress/recorded_signals.hpp"

namespace sync_models_test {

using sync_model::ending;
using sync_model::explainable;
using sync_model::history;
using sync_model::kind;
using sync_model::operation;

// The times of the call and of the return.
struct span {
  std::uint64_t called;
  std::uint64_t returned;
};

operation at(span s, operation o) {
  o.called = s.called;
  o.returned = s.returned;
  return o;
}
operation acquire(span s, std::size_t thread, std::size_t count, ending e = ending::done) {
  return at(s, {.what = kind::acquire, .thread = thread, .count = count, .end = e});
}
operation tried(span s, std::size_t count, ending e) {
  return at(s, {.what = kind::try_acquire, .thread = 3, .count = count, .end = e});
}
operation give_back(span s, std::size_t count) {
  return at(s, {.what = kind::give_back, .count = count});
}
operation number(kind what, span s, std::uint64_t n, std::size_t count = 1) {
  return at(s, {.what = what, .count = count, .number = n});
}
operation plain(kind what, span s, std::size_t thread = 0) {
  return at(s, {.what = what, .thread = thread});
}
operation ended(kind what, span s, std::size_t thread, ending e, std::size_t count = 1) {
  return at(s, {.what = what, .thread = thread, .count = count, .end = e});
}
operation stored(kind what, span s, int value, ending e = ending::done, std::size_t thread = 0) {
  return at(s, {.what = what, .thread = thread, .sent = value, .end = e});
}
operation read(kind what, span s, std::size_t thread, int value, std::uint64_t n = 0) {
  return at(s, {.what = what, .thread = thread, .count = 0, .value = value, .number = n});
}

// -- Permits.

bool by_permits(const history& all, std::size_t free = 2, std::size_t maximum = 3) {
  return explainable<sync_model::permits>(all, {free, maximum});
}

TEST_CASE("sync model: a permit is held once", "[stress]") {
  CHECK(by_permits({tried({0, 1}, 2, ending::done), tried({2, 3}, 1, ending::nothing)}));
  CHECK_FALSE(by_permits({tried({0, 1}, 2, ending::done), tried({2, 3}, 1, ending::done)}));
  CHECK(by_permits({tried({0, 3}, 2, ending::nothing), tried({1, 2}, 1, ending::done)}));
  CHECK_FALSE(by_permits({tried({0, 1}, 2, ending::nothing), tried({2, 3}, 1, ending::done)}));
  CHECK(by_permits(
      {tried({0, 1}, 2, ending::done), give_back({2, 3}, 2), number(kind::state, {4, 5}, 2)}));
  CHECK_FALSE(by_permits(
      {tried({0, 1}, 2, ending::done), give_back({2, 3}, 2), number(kind::state, {4, 5}, 0)}));
}

TEST_CASE("sync model: a request does not overtake one that waits", "[stress]") {
  const auto meanwhile = [](operation other) {
    return history{tried({0, 1}, 1, ending::done), acquire({2, 9}, 1, 2),
                   number(kind::waiting, {3, 4}, 1), other, give_back({7, 8}, 1)};
  };
  CHECK(by_permits(meanwhile(tried({5, 6}, 1, ending::nothing))));
  CHECK_FALSE(by_permits(meanwhile(tried({5, 6}, 1, ending::done))));
  CHECK_FALSE(by_permits(meanwhile(acquire({5, 6}, 2, 1))));
  // A cancelled one lets the next one pass.
  const auto cancelled = [](ending e) {
    return history{tried({0, 1}, 1, ending::done), acquire({2, 8}, 1, 2, ending::cancelled),
                   number(kind::waiting, {3, 4}, 1), plain(kind::stop, {6, 7}, 1),
                   acquire({5, 10}, 2, 1, e)};
  };
  CHECK(by_permits(cancelled(ending::done)));
  CHECK_FALSE(by_permits(cancelled(ending::nothing)));
}

TEST_CASE("sync model: permits are added up to the maximum", "[stress]") {
  CHECK(by_permits({number(kind::add, {0, 1}, 1), number(kind::add, {2, 3}, 0),
                    number(kind::state, {4, 5}, 3)}));
  CHECK_FALSE(by_permits({number(kind::add, {0, 1}, 1), number(kind::add, {2, 3}, 1)}));
  CHECK_FALSE(by_permits({number(kind::add, {0, 1}, 1, 2)}));
  CHECK(by_permits({tried({0, 1}, 2, ending::done), plain(kind::forget, {2, 3}),
                    number(kind::state, {4, 5}, 0)}));
}

TEST_CASE("sync model: close ends requests, a stop those of its thread", "[stress]") {
  const operation waits = acquire({0, 5}, 1, 3, ending::nothing);
  CHECK(by_permits({waits, number(kind::close, {1, 2}, 1)}));
  CHECK_FALSE(by_permits({waits, number(kind::close, {6, 7}, 1)}));
  CHECK_FALSE(by_permits({number(kind::close, {0, 1}, 1), number(kind::close, {2, 3}, 1)}));
  CHECK_FALSE(by_permits({number(kind::close, {0, 1}, 1), tried({2, 3}, 1, ending::done)}));
  const operation stopped = acquire({0, 5}, 1, 3, ending::cancelled);
  CHECK(by_permits({stopped, plain(kind::stop, {1, 2}, 1)}));
  CHECK_FALSE(by_permits({stopped, plain(kind::stop, {1, 2}, 2)}));
  CHECK_FALSE(by_permits({stopped, plain(kind::stop, {6, 7}, 1)}));
  CHECK_FALSE(by_permits({plain(kind::stop, {0, 1}, 1), acquire({2, 3}, 1, 1)}));
}

// -- Events, notifications and watches.

TEST_CASE("sync model: set wakes the operations that wait, even if a reset follows", "[stress]") {
  const auto by_event = [](const history& all) { return explainable<sync_model::event>(all); };
  const history woken{plain(kind::wait, {0, 9}, 1), number(kind::waiting, {1, 2}, 1),
                      plain(kind::set, {3, 4}), plain(kind::reset, {5, 6}),
                      number(kind::state, {7, 8}, 0)};
  CHECK(by_event(woken));
  history lost = woken;
  lost.front().end = ending::cancelled;
  lost.push_back(plain(kind::stop, {10, 11}, 1));
  lost.front().returned = 12;
  CHECK_FALSE(by_event(lost));
  CHECK_FALSE(by_event({plain(kind::wait, {0, 1}, 1), plain(kind::set, {2, 3})}));
  CHECK_FALSE(by_event(
      {plain(kind::set, {0, 1}), plain(kind::reset, {2, 3}), plain(kind::wait, {4, 5}, 1)}));
}

TEST_CASE("sync model: a notification ends one wait and is stored once", "[stress]") {
  const auto by_notification = [](const history& all) {
    return explainable<sync_model::notification>(all);
  };
  const history stored_once{plain(kind::set, {0, 1}), plain(kind::set, {2, 3}),
                            plain(kind::wait, {4, 5}, 1)};
  const auto then = [](history all, operation o) {
    all.push_back(o);
    return all;
  };
  CHECK(by_notification(then(stored_once, ended(kind::try_wait, {6, 7}, 1, ending::nothing))));
  CHECK_FALSE(by_notification(then(stored_once, plain(kind::try_wait, {6, 7}, 1))));
  CHECK_FALSE(by_notification({plain(kind::wait, {0, 1}, 1), plain(kind::set, {2, 3})}));
  // The oldest wait receives it.
  const auto two_wait = [](std::uint64_t first_end, std::uint64_t second_end) {
    return history{plain(kind::wait, {0, first_end}, 1),
                   number(kind::waiting, {1, 2}, 1),
                   plain(kind::wait, {3, second_end}, 2),
                   number(kind::waiting, {4, 5}, 2),
                   plain(kind::set, {6, 7}),
                   number(kind::waiting, {8, 9}, 1),
                   plain(kind::set, {12, 13})};
  };
  CHECK(by_notification(two_wait(10, 14)));
  CHECK_FALSE(by_notification(two_wait(14, 10)));
  // A stopped wait takes nothing.
  const auto stopped = [](ending e) {
    return history{ended(kind::wait, {0, 5}, 1, ending::cancelled),
                   number(kind::waiting, {1, 2}, 1), plain(kind::stop, {3, 4}, 1),
                   plain(kind::set, {6, 7}), ended(kind::try_wait, {8, 9}, 2, e)};
  };
  CHECK(by_notification(stopped(ending::done)));
  CHECK_FALSE(by_notification(stopped(ending::nothing)));
}

TEST_CASE("sync model: a woken operation of a watch reads the latest value", "[stress]") {
  const auto by_watch = [](const history& all) { return explainable<sync_model::watch>(all); };
  const auto changed = [](int value, std::uint64_t version) {
    return history{read(kind::wait, {0, 9}, 1, value, version), stored(kind::set, {1, 2}, 7),
                   stored(kind::set, {3, 4}, 8)};
  };
  CHECK(by_watch(changed(7, 1)));
  CHECK(by_watch(changed(8, 2)));
  CHECK_FALSE(by_watch(changed(8, 1)));
  CHECK_FALSE(by_watch(changed(0, 0)));
  CHECK_FALSE(by_watch({stored(kind::set, {0, 1}, 7), stored(kind::set, {2, 3}, 8),
                        read(kind::wait, {4, 5}, 1, 7, 1)}));
  CHECK_FALSE(by_watch(
      {stored(kind::set, {0, 1}, 7), ended(kind::try_wait, {2, 3}, 1, ending::nothing, 0)}));
  // A close ends a wait, but not one that a value woke.
  const operation nothing = ended(kind::wait, {0, 9}, 1, ending::nothing, 0);
  CHECK(by_watch({nothing, number(kind::close, {1, 2}, 1)}));
  CHECK_FALSE(by_watch({nothing, number(kind::waiting, {1, 2}, 1), stored(kind::set, {3, 4}, 7),
                        number(kind::close, {5, 6}, 1)}));
  CHECK_FALSE(by_watch({number(kind::close, {0, 1}, 1), stored(kind::set, {2, 3}, 7)}));
  operation modified = stored(kind::modify, {2, 3}, 1);
  modified.value = 7;
  CHECK(by_watch({stored(kind::set, {0, 1}, 7), modified, read(kind::state, {4, 5}, 1, 15, 2)}));
  CHECK_FALSE(by_watch({modified, stored(kind::set, {4, 5}, 7)}));
}

// -- Broadcasts. The threads 0 to 3 have receivers from the beginning.

bool by_broadcast(const history& all, bool waits) {
  return explainable<sync_model::broadcast>(all, {2, waits});
}

TEST_CASE("sync model: each receiver of a broadcast gets or misses each value", "[stress]") {
  const auto sent = [](std::vector<operation> then) {
    history all{stored(kind::send, {0, 1}, 10), stored(kind::send, {2, 3}, 11),
                stored(kind::send, {4, 5}, 12)};
    all.insert(all.end(), then.begin(), then.end());
    return all;
  };
  CHECK(by_broadcast(sent({read(kind::try_wait, {6, 7}, 1, 11, 1)}), false));
  CHECK_FALSE(by_broadcast(sent({read(kind::try_wait, {6, 7}, 1, 10)}), false));
  CHECK_FALSE(by_broadcast(sent({read(kind::try_wait, {6, 7}, 1, 11)}), false));
  CHECK_FALSE(by_broadcast(sent({ended(kind::try_wait, {6, 7}, 1, ending::nothing)}), false));
  CHECK(
      by_broadcast(sent({read(kind::try_wait, {6, 7}, 1, 11, 1),
                         read(kind::try_wait, {8, 9}, 1, 12), read(kind::wait, {6, 7}, 2, 11, 1)}),
                   false));
  // A value that is overwritten after an operation was woken and before it reads.
  CHECK(by_broadcast(sent({read(kind::wait, {1, 7}, 1, 11, 1)}), false));
  CHECK_FALSE(by_broadcast(
      sent({plain(kind::join, {6, 7}, 1), read(kind::try_wait, {8, 9}, 1, 12)}), false));
}

TEST_CASE("sync model: a send waits for the slowest receiver", "[stress]") {
  const history one{plain(kind::leave, {0, 1}, 1), plain(kind::leave, {0, 1}, 2),
                    plain(kind::leave, {0, 1}, 3), stored(kind::send, {2, 3}, 10),
                    stored(kind::send, {4, 5}, 11)};
  const auto then = [&](std::vector<operation> more) {
    history all = one;
    all.insert(all.end(), more.begin(), more.end());
    return by_broadcast(all, true);
  };
  CHECK(then({stored(kind::try_send, {6, 7}, 12, ending::nothing)}));
  CHECK_FALSE(then({stored(kind::try_send, {6, 7}, 12)}));
  CHECK_FALSE(then({stored(kind::send, {6, 7}, 12)}));
  CHECK(then({stored(kind::send, {6, 9}, 12, ending::done, 1), read(kind::wait, {7, 8}, 0, 10)}));
  CHECK(then({stored(kind::send, {6, 9}, 12, ending::done, 1), plain(kind::leave, {7, 8}, 0)}));
  CHECK(then({stored(kind::send, {6, 9}, 12, ending::nothing, 1), number(kind::close, {7, 8}, 1),
              read(kind::wait, {10, 11}, 0, 10), read(kind::wait, {12, 13}, 0, 11),
              ended(kind::wait, {14, 15}, 0, ending::nothing)}));
  CHECK_FALSE(
      then({number(kind::close, {7, 8}, 1), ended(kind::wait, {14, 15}, 0, ending::nothing)}));
}

// -- Oneshots: thread 0 has the sender, thread 1 the receiver.

TEST_CASE("sync model: a oneshot delivers its value once", "[stress]") {
  const auto by_oneshot = [](const history& all) { return explainable<sync_model::oneshot>(all); };
  const operation send = stored(kind::try_send, {2, 3}, 7);
  CHECK(by_oneshot({send, read(kind::wait, {0, 5}, 1, 7)}));
  CHECK_FALSE(by_oneshot({send, read(kind::wait, {0, 1}, 1, 7)}));
  CHECK_FALSE(by_oneshot({send, ended(kind::wait, {4, 5}, 1, ending::nothing)}));
  CHECK_FALSE(by_oneshot({send, ended(kind::wait, {0, 1}, 1, ending::nothing)}));
  CHECK(by_oneshot(
      {send, read(kind::try_wait, {4, 5}, 1, 7), ended(kind::wait, {6, 7}, 1, ending::nothing)}));
  CHECK_FALSE(by_oneshot({send, read(kind::wait, {4, 5}, 1, 7), read(kind::wait, {6, 7}, 1, 7)}));
  CHECK(by_oneshot({plain(kind::leave, {2, 3}, 0), ended(kind::wait, {0, 5}, 1, ending::nothing)}));
  const operation refused = stored(kind::try_send, {4, 5}, 7, ending::nothing);
  CHECK(by_oneshot({plain(kind::leave, {0, 1}, 1), refused}));
  CHECK_FALSE(by_oneshot({refused, plain(kind::leave, {6, 7}, 1)}));
  CHECK(by_oneshot({plain(kind::wait_until_closed, {0, 3}, 0), plain(kind::leave, {1, 2}, 1)}));
  CHECK_FALSE(
      by_oneshot({plain(kind::wait_until_closed, {0, 3}, 0), plain(kind::leave, {4, 5}, 1)}));
}

}  // namespace sync_models_test
