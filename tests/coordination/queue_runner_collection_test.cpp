#include "leat/coordination/queue_runner_collection.hpp"

#include "coordination/runner_steps.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "support/leat_test.hpp"

namespace queue_runner_collection_test {

// A queue with a runner whose only operation increments a counter.
struct counting {
  explicit counting(std::string name) : queue(10, std::move(name)) {
    runner.add([this] { return runner_steps::count(n, 3); }, "op");
  }
  leat::fifo_queue<int> queue;
  leat::queue_runner runner{queue};
  int n = 0;
};

template <class Owner>
concept can_own = requires(leat::queue_runner_collection& c, Owner& o) { c.start(o); };

static_assert(can_own<leat::coordinator> && can_own<task_group>);
static_assert(!can_own<int>);

LEAT_TEST(
    "queue_runner_collection: starts its runners in order, for a coordinator and for a group") {
  counting a("a");
  counting b("b");
  leat::queue_runner_collection all;
  all.add(b.runner);
  all.add(a.runner);
  CHECK(all.runners() == std::vector<leat::queue_runner*>{&b.runner, &a.runner});
  leat::coordinator coord;
  const auto handles = all.start(coord);
  CHECK(handles.size() == 2);
  CHECK(coord.live_tasks() == 2);
  co_await coord.join();
  CHECK(a.n + b.n == 6);
  CHECK(handles.at(0).exceptions_raised().empty());

  a.n = 0;
  task_group group;
  CHECK(all.start(group).size() == 2);
  co_await group.join();
  CHECK(a.n == 3);
}

LEAT_TEST("queue_runner_collection: an empty list starts nothing, and the result is empty") {
  counting a("a");
  leat::queue_runner_collection all;
  all.add(a.runner, "others");
  leat::coordinator coord;
  CHECK(all.start(coord).empty());
  CHECK(all.start(coord, "no such list").empty());
  CHECK(coord.live_tasks() == 0);
  CHECK(all.start(coord, "others").size() == 1);
  co_await coord.join();
  CHECK(a.n == 3);
}

TEST_CASE("queue_runner_collection: start() prints a warning for an empty list") {
  const std::string said = leat_test::abort_message([] {
    leat::sim::virtual_scheduler s;
    leat::coordinator coord;
    leat::queue_runner_collection().start(coord, s, "mine");
    std::abort();
  });
  CHECK(contains(said, "queue runner list 'mine' is empty"));
}

LEAT_TEST("queue_runner_collection: a runner that was added twice is started once") {
  counting a("a");
  leat::queue_runner_collection all;
  all.add(a.runner);
  all.add(a.runner);
  leat::coordinator coord;
  const auto handles = all.start(coord);
  CHECK(handles.size() == 1);
  CHECK(handles.at(0));
  CHECK(coord.live_tasks() == 1);
  const auto again = all.start(coord);
  CHECK(again.size() == 1);
  CHECK_FALSE(again.at(0));
  CHECK(coord.live_tasks() == 1);
  co_await coord.join();
}

TEST_CASE("queue_runner_collection: lists the runners of a scope") {
  counting in("scope/queue");
  counting out("scopes/queue");
  leat::queue_runner_collection all;
  all.add(in.runner);
  all.add(out.runner);
  CHECK(in.runner.queue_name() == "scope/queue");
  CHECK(all.runners(leat::queue_runner_collection::default_list, "scope") ==
        std::vector<leat::queue_runner*>{&in.runner});
  CHECK(all.runners(leat::queue_runner_collection::default_list, "sco").empty());
  CHECK(all.runners().size() == 2);
}

TEST_CASE("queue_runner_collection: starts none if one has no operation") {
  leat::sim::virtual_scheduler s;
  counting good("good");
  leat::fifo_queue<int> q(1, "bad");
  leat::queue_runner bad(q);
  leat::queue_runner_collection all;
  all.add(good.runner);
  all.add(bad);
  leat::coordinator coord;
  task_group group;
  CHECK_THROWS_AS(all.start(coord, s), leat::failure);
  CHECK_THROWS_AS(all.start(group, s), leat::failure);
  CHECK(good.runner.running_producers() == 0);
}

TEST_CASE("queue_runner_collection: start() outside a scheduler needs a scheduler") {
  const std::string said = leat_test::abort_message([] {
    counting a("a");
    leat::queue_runner_collection all;
    all.add(a.runner);
    leat::coordinator coord;
    all.start(coord);
  });
  CHECK(contains(said, "queue_runner::start() outside a scheduler: pass the scheduler"));
}

}  // namespace queue_runner_collection_test
