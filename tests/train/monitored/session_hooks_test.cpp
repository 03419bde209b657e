// Single hooks. The test calls them as a monitored_session does, and advances the step and the
// time.

#include <cmath>
#include <limits>

#include "leat/train/monitored/standard_hooks.hpp"
#include "leat/train/summary/event_reader.hpp"
#include "train/monitored/hooked.hpp"

namespace session_hooks_test {

using namespace leat_test;
using leat::run_context;
using leat::session_hook;
using leat::supervisor;
using steps = std::vector<std::int64_t>;

TEST_CASE("stop_at_step_hook: stops at a step or after a number of steps [95]", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    leat::stop_at_step_hook last({.last_step = 10});
    hooked b(l, last);
    const std::function<task<>()> to_10 = [&]() -> task<> {
      l.step = 4;
      CHECK_FALSE(co_await b.create());
      CHECK_FALSE(co_await b.run_at(5));
      CHECK_FALSE(co_await b.run_at(9));
      CHECK(co_await b.run_at(10));
      CHECK(co_await b.run_at(11));
      CHECK(co_await b.create());  // done before it begins
    };
    co_await b.in_session(to_10);

    leat::stop_at_step_hook some({.num_steps = 10});
    learner second;
    hooked c(second, some);
    const std::function<task<>()> ten = [&]() -> task<> {
      second.step = 5;
      CHECK_FALSE(co_await c.create());
      CHECK_FALSE(co_await c.run_at(13));
      second.step = 3;  // a later restore has no effect
      CHECK_FALSE(co_await c.create());
      CHECK_FALSE(co_await c.run_at(14));
      CHECK(co_await c.run_at(15));
      CHECK(co_await c.run_at(16));
    };
    co_await c.in_session(ten);
  });
  const auto make = [](leat::stop_at_step_hook_options o) { return leat::stop_at_step_hook(o); };
  CHECK_FAILS(errc::invalid_argument, "either num_steps or last_step", make({}));
  CHECK_FAILS(errc::invalid_argument, "either num_steps or last_step",
              make({.num_steps = 1, .last_step = 1}));
  CHECK_FAILS(errc::invalid_argument, "num_steps is -1: set 0 or more", make({.num_steps = -1}));
}

// The steps of a tag.
task<steps> steps_of(std::string tag) {
  const leat::event_run run = co_await leat::read_events("/run");
  steps all;
  const auto found = run.series.scalars.find(tag);
  if (found == run.series.scalars.end()) co_return all;
  for (const auto& point : found->second) all.push_back(point.step);
  co_return all;
}

TEST_CASE("summary_saver_hook: writes every eight steps, or every nine seconds [98]", "[train]") {
  for (const bool by_time : {false, true}) {
    in_world([&](leat::sim::world&) -> task<> {
      learner l;
      leat::summary_saver_hook_options o;
      if (by_time) {
        o.every = {.time = 9s};
      } else {
        o.every = {.steps = 8};
      }
      leat::summary_saver_hook hook(o);
      hooked b(l, hook);
      const std::function<task<>()> body = [&]() -> task<> {
        co_await b.create();
        for (std::int64_t i = 1; i <= (by_time ? 8 : 30); ++i) {
          co_await leat::sleep_for(3100ms);
          leat::named_values results;
          results.add("loss", 1.0 / static_cast<double>(i)).add("name", "no number");
          co_await b.run_at(i, std::move(results));
        }
      };
      co_await b.in_session(body);
      const steps expected = by_time ? steps{1, 4, 7} : steps{1, 9, 17, 25};
      const steps written = co_await steps_of("loss");
      CHECK(written == expected);
      const steps of_text = co_await steps_of("name");
      CHECK(of_text.empty());
    });
  }
}

TEST_CASE("summary_saver_hook: calls a function of the run, and does not write empty summaries",
          "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    leat::summary_saver_hook_options o;
    o.every = {.steps = 1};
    o.summaries = [](const run_context& run) {
      leat::summary s;
      const double x = run.results().get<double>("x");
      if (x > 0) s.add_scalar("x squared", x * x);
      return s;
    };
    leat::summary_saver_hook hook(o);
    hooked b(l, hook);
    const std::function<task<>()> body = [&]() -> task<> {
      leat::named_values none;
      none.add("x", 0.0);
      co_await b.run_at(1, std::move(none));
      leat::named_values some;
      some.add("x", 3.0);
      co_await b.run_at(2, std::move(some));
    };
    co_await b.in_session(body);
    const words all = leat_test::events_in_words(w);
    CHECK(std::ranges::count(all, "x squared 2") == 1);
    CHECK(all.size() == 4);  // version, START, it, STOP
  });
}

TEST_CASE("step_counter_hook: reports steps per second every 10 steps [98]", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    leat::step_counter_hook hook({.every = {.steps = 10}});
    hooked b(l, hook);
    const std::function<task<>()> body = [&]() -> task<> {
      co_await b.create();
      for (std::int64_t i = 1; i <= 30; ++i) {
        co_await leat::sleep_for(500ms);
        co_await b.run_at(i);
      }
    };
    co_await b.in_session(body);
    const steps written = co_await steps_of("global_step/sec");
    CHECK((written == steps{11, 21}));
    const leat::event_run run = co_await leat::read_events("/run");
    CHECK(run.series.scalars.at("global_step/sec")[0].value == 2.0F);
    CHECK(l.warnings.empty());
  });
}

TEST_CASE("step_counter_hook: warns five times about a step that does not increase", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    leat::step_counter_hook hook({.every = {.steps = 10}, .name = "my_step"});
    hooked b(l, hook);
    const std::function<task<>()> body = [&]() -> task<> {
      for (int i = 0; i < 20; ++i) co_await b.run_at(7);
    };
    co_await b.in_session(body);
    REQUIRE(l.warnings.size() == 5);
    CHECK(contains(l.warnings[0], "run() did not increase 'my_step', which is still 7"));
  });
}

TEST_CASE("step_counter_hook: restarts its count in a new session", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    leat::step_counter_hook hook({.every = {.steps = 10}});
    hooked b(l, hook);
    const std::function<task<>()> body = [&]() -> task<> {
      for (std::int64_t i = 1; i <= 30; ++i) co_await b.run_at(i);
      l.step = 5;  // restored
      co_await b.create();
      co_await leat::sleep_for(1s);
      for (std::int64_t i = 6; i <= 16; ++i) {
        co_await b.run_at(i);
        co_await leat::sleep_for(1s);
      }
    };
    co_await b.in_session(body);
    const leat::event_run run = co_await leat::read_events("/run");
    const auto& rates = run.series.scalars.at("global_step/sec");
    REQUIRE(rates.size() == 2);
    CHECK(rates.front().step == 11);
    CHECK(rates.back().step == 16);  // has replaced the rate of step 21
    CHECK(rates.back().value == 1.0F);
  });
}

TEST_CASE("nan_hook: throws an error or requests a stop", "[train]") {
  for (const bool fails : {true, false}) {
    in_world([&](leat::sim::world&) -> task<> {
      learner l;
      leat::nan_hook hook({.fail_on_nan_loss = fails});
      hooked b(l, hook);
      const auto run = [&](double loss) -> task<bool> {
        leat::named_values results;
        results.add("loss", loss);
        const bool stop = co_await b.run_at(3, std::move(results));
        co_return stop;
      };
      const std::function<task<>()> body = [&]() -> task<> {
        CHECK_FALSE(co_await run(std::numeric_limits<double>::infinity()));
        const bool stop = co_await run(std::nan(""));
        CHECK(stop);
      };
      const std::string why = co_await message_of(b.in_session(body));
      if (fails) {
        CHECK(contains(why, "NaN loss during training: 'loss' at step 3"));
      } else {
        CHECK(why == "");
        REQUIRE(l.warnings.size() == 1);
        CHECK(contains(l.warnings[0], "NaN loss during training"));
      }
    });
  }
}

TEST_CASE("nan_hook: rejects a missing or non-numeric loss", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    leat::nan_hook hook;
    hooked b(l, hook);
    const std::function<task<>()> nothing = [&]() -> task<> { co_await b.run_at(1); };
    CHECK(contains(co_await message_of(b.in_session(nothing)), "no value 'loss'"));
    const std::function<task<>()> text = [&]() -> task<> {
      leat::named_values results;
      results.add("loss", "low");
      co_await b.run_at(1, std::move(results));
    };
    CHECK(contains(co_await message_of(b.in_session(text)), "'loss' is not numeric"));
  });
}

TEST_CASE("logging_hook: writes a line of numbers", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    words lines;
    const auto to = [&](const std::string& line) { lines.push_back(line); };
    leat::logging_hook all({.every = {.steps = 2}, .to = to});
    leat::logging_hook named({.names = {"loss", "name"}, .every = {.steps = 2}, .to = to});
    hooked b(l, all);
    hooked c(l, named);
    const auto learn_with = [&](hooked& hooked) -> task<> {
      for (std::int64_t i = 1; i <= 3; ++i) {
        leat::named_values results;
        results.add("loss", 0.25).add("name", "x").add("count", i);
        co_await hooked.run_at(i, std::move(results));
      }
    };
    const std::function<task<>()> first = [&]() -> task<> { co_await learn_with(b); };
    const std::function<task<>()> second = [&]() -> task<> { co_await learn_with(c); };
    co_await b.in_session(first);
    co_await c.in_session(second);
    CHECK((lines == words{"step 1: loss = 0.25, count = 1", "step 3: loss = 0.25, count = 3",
                          "step 1: loss = 0.25, name = (not numeric)",
                          "step 3: loss = 0.25, name = (not numeric)"}));
  });
}

TEST_CASE("step_waiter_hook: waits for the step of others", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    leat::step_waiter_hook hook(100);
    hooked b(l, hook);
    const std::function<task<>()> body = [&]() -> task<> {
      b.sv.loop(1s, [&]() -> task<> {
        l.step += 10;
        co_return;
      });
      const auto begin = w.now();
      co_await b.run_at(1000);
      CHECK(w.now() - begin >= 9s);
      CHECK(w.now() - begin < 10s);
      l.step = 0;
      co_await b.run_at(1);  // only the first one
      CHECK(w.now() - begin < 10s);
    };
    co_await b.in_session(body);
  });
  CHECK_FAILS(errc::invalid_argument, "interval is not positive", leat::step_waiter_hook(1, 0s));
}

TEST_CASE("hooks of steps: reject a program with an unknown step number", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    supervisor sv({});
    leat::checkpoint_saver_hook checkpoints;
    leat::step_counter_hook counter;
    leat::summary_saver_hook summaries;
    leat::stop_at_step_hook stop({.last_step = 1});
    leat::logging_hook log;
    leat::step_waiter_hook wait(1);
    const std::vector<session_hook*> all{&checkpoints, &counter, &summaries, &stop, &log, &wait};
    for (session_hook* const hook : all) {
      CHECK(contains(co_await message_of(hook->begin(sv)), "_hook: step number is unknown"));
    }
  });
}

TEST_CASE("function_hook: calls the functions that are set", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner l;
    words called;
    leat::function_hook_options o;
    const auto note = [&](std::string name) {
      return [&called, name](run_context&) -> task<> {
        called.push_back(name);
        co_return;
      };
    };
    o.begin = [&](supervisor&) -> task<> {
      called.push_back("begin");
      co_return;
    };
    o.after_create_session = note("created");
    o.before_run = note("before");
    o.after_run = note("after");
    o.end = note("end");
    leat::function_hook full(o);
    leat::function_hook empty(leat::function_hook_options{});
    const std::vector<session_hook*> both{&full, &empty};
    for (session_hook* const hook : both) {
      hooked b(l, *hook);
      const std::function<task<>()> body = [&]() -> task<> {
        co_await hook->begin(b.sv);
        co_await b.create();
        co_await b.run_at(1);
        co_await b.end();
      };
      co_await b.in_session(body);
    }
    CHECK((called == words{"begin", "created", "before", "after", "end"}));
  });
}

}  // namespace session_hooks_test
