// Stop requests that take effect between two steps of a supervised body.

#include "leat/train/supervisor/supervisor.hpp"
#include "train/supervised.hpp"

namespace stop_after_step_test {

using leat::supervisor;
using leat_test::has_file;
using leat_test::in_world;
using leat_test::learner;

// Steps of ten seconds that change the state before and after they wait.
task<> learn_in_steps(supervisor& sv, learner& l, int steps) {
  for (int i = 0; i < steps; ++i) {
    const auto here = co_await sv.step();
    l.weight += 0.25;
    co_await leat::sleep_for(10s);
    l.weight += 0.25;
    ++l.step;
  }
}

task<> stop_after(supervisor& sv, leat::duration wait) {
  co_await leat::sleep_for(wait);
  sv.request_stop_after_step();
  sv.request_stop_after_step();
}

TEST_CASE("supervisor: a stop during a step takes effect after it, and that step is saved") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    leat::supervisor_options o = l.options();
    o.step_grace = 30s;
    supervisor sv(o);
    leat::task_group other("other");
    other.spawn(stop_after(sv, 25s));
    CHECK(co_await message_of(sv.managed([&] { return learn_in_steps(sv, l, 100); })) == "");
    co_await other.join();
    CHECK(sv.stopped());
    CHECK(l.step == 3);
    CHECK(l.weight == 1 + 3 * 0.5);
    CHECK(l.warnings.empty());

    learner again;
    supervisor next(again.options());
    CHECK(co_await message_of(next.managed([&] { return learn_in_steps(next, again, 1); })) == "");
    CHECK(next.restored_from() == "/run/model.ckpt-3");
    CHECK_FALSE(next.stopped());
    CHECK(again.step == 4);
    CHECK(again.weight == 3);
  });
}

TEST_CASE("supervisor: a step that outlasts step_grace is cancelled and not saved") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    leat::supervisor_options o = l.options();
    o.step_grace = 1500ms;
    o.save_model_interval = leat::duration::zero();
    supervisor sv(o);
    leat::task_group other("other");
    other.spawn(stop_after(sv, 22s));
    const auto begin = w.now();
    CHECK(co_await message_of(sv.managed([&] { return learn_in_steps(sv, l, 100); })) == "");
    CHECK(w.now() - begin < 25s);
    co_await other.join();
    CHECK(sv.stopped());
    REQUIRE_FALSE(l.warnings.empty());
    CHECK(contains(l.warnings.front(), "did not finish within 1.5 s"));
    CHECK_FALSE(has_file(w, "/run/model.ckpt-2"));
  });
}

TEST_CASE("supervisor: a body without steps is stopped where it waits") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    supervisor sv(l.options());
    leat::task_group other("other");
    other.spawn(stop_after(sv, 5s));
    const auto body = [&]() -> task<> {
      l.learn();
      co_await leat::sleep_for(1h);
    };
    CHECK(co_await message_of(sv.managed(body)) == "");
    co_await other.join();
    CHECK(sv.stopped());
    CHECK(has_file(w, "/run/model.ckpt-1"));
  });
}

TEST_CASE("supervisor: a stop before the start takes effect, and the next run starts normally") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    supervisor sv(l.options());
    sv.request_stop_after_step();
    const auto body = [&] { return learn_in_steps(sv, l, 2); };
    CHECK(co_await message_of(sv.managed(body)) == "");
    CHECK(sv.stopped());
    CHECK(l.step == 0);
    CHECK(co_await message_of(sv.managed(body)) == "");
    CHECK_FALSE(sv.stopped());
    CHECK(l.step == 2);
  });
}

TEST_CASE("supervisor: a stop ends the wait of a worker for its chief without an error") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    leat::supervisor_options o = l.options();
    o.is_chief = false;
    supervisor sv(o);
    leat::task_group other("other");
    other.spawn(stop_after(sv, 40s));
    const auto begin = w.now();
    CHECK(co_await message_of(sv.managed([&] { return learn_in_steps(sv, l, 2); })) == "");
    co_await other.join();
    CHECK(w.now() - begin < 1min);
    CHECK(sv.stopped());
    CHECK(l.step == 0);
  });
}

TEST_CASE("supervisor: a stop waits for the steps of two tasks, which start no other step") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    leat::supervisor_options o = l.options();
    o.step_grace = 30s;
    supervisor sv(o);
    leat::task_group other("other");
    other.spawn(stop_after(sv, 25s));
    const auto body = [&]() -> task<> {
      co_await leat::with_task_group([&](leat::task_group& group) -> task<> {
        group.spawn(learn_in_steps(sv, l, 100));
        co_await leat::sleep_for(5s);
        group.spawn(learn_in_steps(sv, l, 100));
      });
    };
    CHECK(co_await message_of(sv.managed(body)) == "");
    co_await other.join();
    CHECK(sv.stopped());
    CHECK(l.step == 5);
    CHECK(l.weight == 1 + 5 * 0.5);
    CHECK(l.warnings.empty());
  });
}

}  // namespace stop_after_step_test
