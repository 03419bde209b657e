// How a monitored session is closed: by its body, by a step at the end of the input, by a stop
// request between the body's check and its run.

#include <functional>
#include <limits>

#include "leat/train/monitored/standard_hooks.hpp"
#include "train/monitored/monitored.hpp"

namespace monitored_close_test {

using namespace leat_test;
using leat::failure;
using leat::monitored_session;
using leat::run_context;

// Returns options with a hook that counts normal ends.
leat::monitored_session_options ending_in(monitored_learner& l, int& ends) {
  leat::monitored_session_options o = l.monitored();
  o.hooks.push_back(hook_of({.end = [&ends](run_context&) -> task<> {
    ++ends;
    co_return;
  }}));
  return o;
}

TEST_CASE("monitored_session: a stop request just before the end of a successful run", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    monitored_learner l;
    int ends = 0;
    monitored_session s(ending_in(l, ends));
    const auto step = l.learning();
    const std::function<task<>()> body = [&]() -> task<> {
      while (!s.should_stop()) {
        co_await leat::sleep_for(1s);
        if (l.step == 3) s.request_stop();
        co_await s.run(step);
      }
    };
    co_await s.managed(body);
    CHECK(ends == 1);
    CHECK(l.step == 3);
    CHECK(has_file(w, "/run/model.ckpt-3"));
  });
}

TEST_CASE("monitored_session: a step that is a plain function can end the input", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    monitored_learner l;
    int ends = 0;
    monitored_session s(ending_in(l, ends));
    const auto learn = [&l]() -> task<> {
      l.learn();
      co_return;
    };
    const auto step = [&]() -> task<> {
      if (l.step == 2) throw failure(errc::out_of_range, "no more lines");
      return learn();
    };
    const std::function<task<>()> body = [&]() -> task<> {
      while (!s.should_stop()) co_await s.run(step);
    };
    co_await s.managed(body);
    CHECK(ends == 1);
    CHECK(has_file(w, "/run/model.ckpt-2"));
  });
}

TEST_CASE("monitored_session: a body continues after it closed the session", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    monitored_learner l;
    int ends = 0;
    monitored_session s(ending_in(l, ends));
    const auto step = l.learning();
    bool uploaded = false;
    const std::function<task<>()> body = [&]() -> task<> {
      co_await s.run(step);
      co_await s.close();
      co_await leat::sleep_for(1s);
      uploaded = true;
    };
    co_await s.managed(body);
    CHECK(uploaded);
    CHECK(ends == 1);
    CHECK(l.open == 0);
  });
}

TEST_CASE("stop_at_step_hook: the largest number of steps is never reached", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    monitored_learner l;
    l.step = 5;
    leat::monitored_session_options o = l.monitored();
    o.supervised.sessions.init = [](leat::session&) -> task<> { co_return; };
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const leat::stop_at_step_hook_options never{.num_steps = most};
    o.hooks.push_back(std::make_shared<leat::stop_at_step_hook>(never));
    monitored_session s(std::move(o));
    const auto step = l.learning();
    co_await s.open();
    co_await s.run(step);
    CHECK_FALSE(s.should_stop());
    CHECK(l.step == 6);
    co_await s.close();
  });
  CHECK_THROWS(leat::stop_at_step_hook({.num_steps = -1}));
}

}  // namespace monitored_close_test
