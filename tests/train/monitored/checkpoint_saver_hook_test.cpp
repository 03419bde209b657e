// Checkpoints between runs.

#include "leat/train/monitored/standard_hooks.hpp"

#include "train/monitored/hooked.hpp"

namespace checkpoint_saver_hook_test {

using namespace leat_test;
using steps = std::vector<std::int64_t>;

leat::checkpoint_saver_hook_options noting(steps& saved, leat::step_interval every) {
  leat::checkpoint_saver_hook_options o;
  o.every = every;
  leat::checkpoint_saver_listener l;
  l.after_save = [&saved](std::int64_t step) -> task<bool> {
    saved.push_back(step);
    co_return false;
  };
  o.listeners.push_back(std::move(l));
  return o;
}

TEST_CASE("checkpoint_saver_hook: saves every two seconds [97]", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    steps saved;
    leat::checkpoint_saver_hook hook(noting(saved, {.time = 2s}));
    hooked b(l, hook);
    const std::function<task<>()> body = [&]() -> task<> {
      const auto begin = w.now();
      const std::vector<leat::duration> at{0ms, 500ms, 2500ms, 2600ms, 2700ms, 10s};
      for (std::size_t i = 0; i < at.size(); ++i) {
        co_await leat::sleep_until(begin + at[i]);
        co_await b.run_at(static_cast<std::int64_t>(i + 1));
      }
    };
    co_await b.in_session(body);
    CHECK((saved == steps{1, 3, 6}));
    CHECK(has_file(w, "/run/model.ckpt-6"));
    CHECK_FALSE(has_file(w, "/run/model.ckpt-2"));
  });
}

TEST_CASE("checkpoint_saver_hook: saves every two steps, when created and at the end [97]",
          "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    steps saved;
    leat::checkpoint_saver_hook hook(noting(saved, {.steps = 2}));
    hooked b(l, hook);
    const std::function<task<>()> plain = [&]() -> task<> {
      for (std::int64_t i = 1; i <= 5; ++i) co_await b.run_at(i);
    };
    co_await b.in_session(plain);
    CHECK((saved == steps{1, 3, 5}));
  });
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    steps saved;
    leat::checkpoint_saver_hook hook(noting(saved, {.steps = 2}));
    hooked b(l, hook);
    const std::function<task<>()> created = [&]() -> task<> {
      co_await b.create();
      for (std::int64_t i = 1; i <= 3; ++i) co_await b.run_at(i);
      CHECK((saved == steps{0, 2}));
      co_await b.end();
      CHECK((saved == steps{0, 2, 3}));
      co_await b.end();
      CHECK(saved.size() == 3);  // the step has not changed
    };
    co_await b.in_session(created);

    learner again;  // is restored, but not saved again
    leat::checkpoint_saver_hook second(noting(saved, {.steps = 2}));
    hooked c(again, second);
    const std::function<task<>()> restored = [&]() -> task<> {
      CHECK(again.step == 3);
      co_await c.create();
      co_await c.end();
      CHECK(saved.size() == 3);
      co_await c.run_at(4);
      CHECK(saved.size() == 3);
      co_await c.run_at(5);
      CHECK((saved == steps{0, 2, 3, 5}));
    };
    co_await c.in_session(restored);
  });
}

TEST_CASE("checkpoint_saver_hook: calls listeners, one of which requests a stop [97]", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    words called;
    leat::checkpoint_saver_hook_options o;
    o.every.steps = 1;
    o.every.time.reset();
    leat::checkpoint_saver_listener listener;
    listener.begin = [&]() -> task<> {
      called.push_back("begin");
      co_return;
    };
    listener.before_save = [&](std::int64_t step) -> task<> {
      called.push_back("before " + std::to_string(step));
      co_return;
    };
    listener.after_save = [&](std::int64_t step) -> task<bool> {
      called.push_back("after " + std::to_string(step));
      co_return step == 2;
    };
    listener.end = [&](std::int64_t step) -> task<> {
      called.push_back("end " + std::to_string(step));
      co_return;
    };
    o.listeners.push_back(listener);
    leat::checkpoint_saver_hook hook(o);
    hooked b(l, hook);
    const std::function<task<>()> body = [&]() -> task<> {
      co_await hook.begin(b.sv);
      co_await b.create();
      CHECK_FALSE(co_await b.run_at(1));
      CHECK(co_await b.run_at(2));
      co_await b.end();
    };
    co_await b.in_session(body);
    CHECK((called == words{"begin", "before 0", "after 0", "before 1", "after 1", "before 2",
                           "after 2", "end 2"}));
  });
}

TEST_CASE("checkpoint_saver_hook: saves only at the end, or never", "[train]") {
  for (const bool at_end : {true, false}) {
    in_world([&](leat::sim::world& w) -> task<> {
      learner l;
      leat::checkpoint_saver_hook_options o;
      o.every = {};
      o.save_at_end = at_end;
      leat::checkpoint_saver_hook hook(o);
      hooked b(l, hook);
      const std::function<task<>()> body = [&]() -> task<> {
        co_await b.create();
        co_await b.run_at(1);
        CHECK_FALSE(has_file(w, "/run/model.ckpt-1"));
        co_await b.end();
        CHECK(has_file(w, "/run/model.ckpt-1") == at_end);
      };
      co_await b.in_session(body);
    });
  }
}

}  // namespace checkpoint_saver_hook_test
