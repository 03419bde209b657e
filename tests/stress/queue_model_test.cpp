// The model that judges histories of a queue accepts correct histories and rejects wrong ones. Each
// kind of operation is tested with one error.

#include "stress/queue_model.hpp"

#include <vector>

#include <catch2/catch.hpp>

namespace queue_model_test {

using queue_model::ending;
using queue_model::history;
using queue_model::kind;
using queue_model::operation;
using queue_orders::next_item;

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

operation pushed(kind what, span s, std::vector<int> items, std::size_t moved, ending end) {
  return at(s, {.what = what, .items = std::move(items), .end = end, .moved = moved});
}

operation try_push(span s, std::vector<int> items, std::size_t moved) {
  return pushed(kind::try_push, s, std::move(items), moved,
                moved > 0 ? ending::done : ending::nothing);
}
operation push(span s, std::vector<int> items) {
  const std::size_t all = items.size();
  return pushed(kind::push, s, std::move(items), all, ending::done);
}
operation refused_push(span s, std::vector<int> items, std::size_t moved = 0) {
  return pushed(kind::push, s, std::move(items), moved, ending::nothing);
}
operation cancelled_push(span s, std::vector<int> items, std::size_t moved = 0) {
  return pushed(kind::push, s, std::move(items), moved, ending::cancelled);
}
operation popped(kind what, span s, std::size_t count, std::vector<int> items) {
  const ending end = items.empty() ? ending::nothing : ending::done;
  return at(s, {.what = what, .items = std::move(items), .count = count, .end = end});
}

operation cancelled_pop(span s, std::size_t count) {
  return at(s, {.what = kind::pop_many, .count = count, .end = ending::cancelled});
}

operation other(kind what, span s, std::size_t result = 0) {
  return at(s, {.what = what, .moved = result});
}

bool explains(const history& all, next_item gives = next_item::oldest,
              std::size_t min_after_dequeue = 0) {
  return queue_model::explainable(all, {gives, 2, min_after_dequeue});
}

TEST_CASE("linearizability: operations that do not overlap are ordered", "[stress]") {
  CHECK(explains({try_push({0, 1}, {1}, 1), popped(kind::try_pop_many, {2, 3}, 1, {1})}));
  CHECK_FALSE(explains({try_push({0, 1}, {1}, 1), popped(kind::try_pop_many, {2, 3}, 1, {})}));
  CHECK(explains({try_push({0, 3}, {1}, 1), popped(kind::try_pop_many, {1, 2}, 1, {})}));
  CHECK(explains({try_push({0, 1}, {1}, 1), other(kind::size, {2, 3}, 1)}));
  CHECK_FALSE(explains({try_push({0, 1}, {1}, 1), other(kind::size, {2, 3}, 0)}));
}

TEST_CASE("linearizability: try_push_many adds as many items as fit", "[stress]") {
  CHECK(explains({try_push({0, 1}, {1, 2, 3}, 2)}));
  CHECK_FALSE(explains({try_push({0, 1}, {1, 2, 3}, 1)}));
  CHECK_FALSE(explains({try_push({0, 1}, {1, 2, 3}, 3)}));
  // A waiting pop takes an item, so that all three fit.
  CHECK(explains({popped(kind::pop_many, {0, 9}, 1, {1}), try_push({1, 2}, {1, 2, 3}, 3)}));
}

TEST_CASE(
    "linearizability: try_pop_many is complete or empty, try_pop_up_to takes the available items",
    "[stress]") {
  const operation in = try_push({0, 1}, {1, 2}, 2);
  CHECK(explains({in, popped(kind::try_pop_many, {2, 3}, 2, {1, 2})}));
  CHECK_FALSE(explains({in, popped(kind::try_pop_many, {2, 3}, 2, {2, 1})}));
  CHECK(explains({in, popped(kind::try_pop_many, {2, 3}, 2, {2, 1})}, next_item::any));
  CHECK_FALSE(explains({in, popped(kind::try_pop_many, {2, 3}, 3, {1, 2})}));
  CHECK(explains({in, popped(kind::try_pop_up_to, {2, 3}, 3, {1, 2})}));
  CHECK_FALSE(explains({in, popped(kind::try_pop_up_to, {2, 3}, 3, {1})}));
  CHECK(explains({in, popped(kind::try_pop_up_to, {2, 3}, 3, {2})}, next_item::any, 1));
  CHECK_FALSE(explains({in, popped(kind::try_pop_up_to, {2, 3}, 3, {1, 2})}, next_item::any, 1));
}

TEST_CASE("linearizability: a push of many is contiguous, and may exceed the capacity",
          "[stress]") {
  const auto taken = [](std::vector<int> first, std::vector<int> then) {
    return history{push({0, 9}, {1, 2, 3}), push({1, 10}, {7}),
                   popped(kind::pop_many, {2, 11}, 2, std::move(first)),
                   popped(kind::pop_many, {12, 13}, 2, std::move(then))};
  };
  CHECK(explains(taken({1, 2}, {3, 7})));
  CHECK(explains(taken({7, 1}, {2, 3})));
  CHECK_FALSE(explains(taken({1, 7}, {2, 3})));
  CHECK_FALSE(explains({push({0, 1}, {1, 2, 3})}));  // returned before it had added all
}

TEST_CASE("linearizability: a waiting batch takes items in order, or none", "[stress]") {
  const auto meanwhile = [](kind what, span when, std::vector<int> items) {
    return history{popped(kind::pop_many, {0, 9}, 3, {1, 2, 3}), try_push({1, 2}, {1, 2}, 2),
                   popped(what, when, 1, std::move(items)), push({5, 6}, {3})};
  };
  CHECK(explains(meanwhile(kind::try_pop_many, {3, 4}, {})));
  CHECK_FALSE(explains(meanwhile(kind::try_pop_many, {3, 4}, {1})));
  // The size excludes items that a pop holds; a pop from a priority_queue holds none.
  const auto size = [](std::size_t counted, std::vector<int> batch) {
    return history{popped(kind::pop_many, {0, 9}, 2, std::move(batch)), try_push({1, 2}, {2}, 1),
                   other(kind::size, {3, 4}, counted), try_push({5, 6}, {1}, 1)};
  };
  CHECK(explains(size(0, {2, 1})));
  CHECK(explains(size(1, {1, 2}), next_item::smallest));
  CHECK_FALSE(explains(size(0, {1, 2}), next_item::smallest));
  CHECK_FALSE(explains(size(1, {2, 1}), next_item::smallest));
}

TEST_CASE("linearizability: a waiting operation ends when it can complete, or by a close",
          "[stress]") {
  const operation gave_up = popped(kind::pop_many, {0, 3}, 1, {});
  CHECK_FALSE(explains({gave_up, other(kind::close, {4, 5}, 1)}));
  CHECK(explains({gave_up, other(kind::close, {1, 2}, 1)}));
  CHECK(explains({gave_up, other(kind::close_and_cancel, {1, 2})}));
  const operation close = other(kind::close, {3, 4}, 1);
  const operation in = try_push({1, 2}, {1}, 1);
  // A pop_many puts back the items that it held, a pop_up_to keeps them.
  CHECK(explains({popped(kind::pop_many, {0, 5}, 2, {}), in, close,
                  popped(kind::try_pop_many, {6, 7}, 1, {1})}));
  CHECK_FALSE(explains({popped(kind::pop_many, {0, 5}, 2, {}), in, close,
                        popped(kind::try_pop_many, {6, 7}, 1, {})}));
  CHECK(explains({popped(kind::pop_up_to, {0, 5}, 2, {1}), in, close}));
  CHECK_FALSE(explains({popped(kind::pop_up_to, {0, 5}, 2, {1}), in}));
  CHECK_FALSE(explains({popped(kind::pop_up_to, {0, 5}, 2, {}), in, close}));
}

TEST_CASE("linearizability: a waiting push completes before a close", "[stress]") {
  const auto closed_meanwhile = [](operation waits) {
    return history{try_push({0, 1}, {1, 2}, 2), std::move(waits), other(kind::close, {5, 6}, 1),
                   popped(kind::try_pop_many, {7, 8}, 1, {1}), try_push({10, 11}, {4}, 0)};
  };
  CHECK(explains(closed_meanwhile(push({4, 9}, {3}))));
  CHECK(explains(closed_meanwhile(refused_push({4, 9}, {3}))));  // it followed the close
  CHECK_FALSE(explains(closed_meanwhile(push({7, 9}, {3}))));
  CHECK(explains(closed_meanwhile(refused_push({7, 9}, {3}))));
  CHECK_FALSE(explains(closed_meanwhile(cancelled_push({4, 9}, {3}))));
  CHECK(explains({other(kind::close, {0, 1}, 1), other(kind::close, {2, 3}, 0)}));
  CHECK_FALSE(explains({other(kind::close, {0, 1}, 1), other(kind::close, {2, 3}, 1)}));
}

TEST_CASE("linearizability: close_and_cancel ends pushes and keeps the stored items", "[stress]") {
  const auto cancelled = [](operation waits, std::vector<int> left) {
    return history{try_push({0, 1}, {1}, 1), std::move(waits),
                   other(kind::close_and_cancel, {5, 6}),
                   popped(kind::pop_up_to, {8, 9}, 3, std::move(left))};
  };
  CHECK(explains(cancelled(cancelled_push({2, 7}, {2, 3}, 1), {1, 2})));
  CHECK_FALSE(explains(cancelled(cancelled_push({2, 7}, {2, 3}, 0), {1})));
  CHECK_FALSE(explains(cancelled(cancelled_push({2, 7}, {2, 3}, 1), {1})));
  CHECK_FALSE(explains(cancelled(push({2, 7}, {2, 3}), {1, 2})));
  CHECK_FALSE(explains(cancelled(refused_push({2, 4}, {2, 3}), {1})));
}

TEST_CASE("linearizability: a stop ends a wait and returns its items", "[stress]") {
  const operation stop = other(kind::stop, {3, 4});
  const operation in = try_push({1, 2}, {1}, 1);
  const operation stopped = cancelled_pop({0, 5}, 2);
  CHECK(explains({stopped, in, stop, popped(kind::try_pop_many, {6, 7}, 1, {1})}));
  CHECK_FALSE(explains({stopped, in, stop, popped(kind::try_pop_many, {6, 7}, 1, {})}));
  CHECK_FALSE(explains({stopped, in}));  // without a stop
  operation of_another = stop;
  of_another.thread = 1;
  CHECK_FALSE(explains({stopped, in, of_another}));
  operation later = other(kind::stop, {6, 7});
  CHECK_FALSE(explains({stopped, in, later}));
  // A push_many may have added a part of its items.
  const operation full = try_push({0, 1}, {1}, 1);
  const operation halved = cancelled_push({2, 5}, {2, 3}, 1);
  CHECK(explains({full, halved, stop, popped(kind::try_pop_up_to, {6, 7}, 3, {1, 2})}));
  CHECK_FALSE(explains({full, halved, stop, popped(kind::try_pop_up_to, {6, 7}, 3, {1})}));
  // A stopped operation does not begin to wait and takes no available item.
  CHECK(explains({in, stop, cancelled_pop({5, 6}, 1)}));
  CHECK_FALSE(explains({in, stop, popped(kind::pop_many, {5, 6}, 1, {1})}));
  CHECK(explains({in, stop, popped(kind::try_pop_many, {5, 6}, 1, {1})}));
}

}  // namespace queue_model_test
