// Retries without a state, of a worker, and step by step; warnings meanwhile; and errors that are
// not the end of the input.

#include <functional>

#include "train/monitored/monitored.hpp"

namespace monitored_retry_test {

using leat::failure;
using leat::monitored_session;
using leat::session;
using leat_test::fails_once;
using leat_test::in_world;
using leat_test::monitored_learner;

TEST_CASE("monitored_session: without a state, repeats only the failed step", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    monitored_learner l;
    leat::monitored_session_options o = l.monitored("");
    o.supervised.state = nullptr;
    o.supervised.sessions.init = nullptr;
    o.hooks.push_back(fails_once(2, errc::aborted));
    monitored_session s(std::move(o));
    int runs = 0;
    const std::function<task<>()> step = [&]() -> task<> {
      if (++runs == 4) s.request_stop();
      co_return;
    };
    const std::function<task<>()> body = [&]() -> task<> {
      while (!s.should_stop()) co_await s.run(step);
    };
    CHECK(co_await message_of(s.managed(body)) == "");
    CHECK(runs == 4);
    CHECK(l.created == 2);
    CHECK(l.open == 0);
  });
}

TEST_CASE("monitored_session: a failed worker resumes from the checkpoint of its chief",
          "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    monitored_learner chief;
    leat::monitored_session_options saving = chief.monitored();
    saving.save_checkpoint_steps = 1;
    monitored_session first(std::move(saving));
    co_await first.open();
    for (int i = 0; i < 3; ++i) static_cast<void>(co_await first.run(chief.learning()));

    monitored_learner worker;
    leat::monitored_session_options o = worker.monitored();
    o.supervised.is_chief = false;
    o.hooks.push_back(fails_once(2, errc::unavailable));
    monitored_session s(std::move(o));
    const std::function<task<>()> body = [&]() -> task<> {
      CHECK(co_await s.run(worker.learning()) == 4);
      const std::int64_t four = co_await first.run(chief.learning());
      const std::int64_t five = co_await first.run(chief.learning());
      CHECK(four + 1 == five);
      CHECK(co_await s.run(worker.learning()) == 6);  // after the chief's fifth step, and this one
    };
    CHECK(co_await message_of(s.managed(body)) == "");
    CHECK(worker.created == 2);
    co_await first.close();
  });
}

TEST_CASE("monitored_session: retries also if it was opened with open()", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    monitored_learner l;
    leat::monitored_session_options o = l.monitored();
    o.supervised.sessions.init_fn = [n = 0](session&) mutable -> task<> {
      if (++n < 3) throw failure(errc::unavailable, "not yet");
      co_return;
    };
    monitored_session s(std::move(o));
    const auto begin = w.now();
    co_await s.open();
    CHECK(w.now() - begin >= 1500ms);  // half a second and a second, at least
    CHECK(l.created == 3);
    CHECK(co_await s.run(l.learning()) == 1);
    co_await s.close();
    CHECK(l.open == 0);
  });
}

TEST_CASE(
    "monitored_session: between two sessions should_stop() is false, and the failure is reported",
    "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    monitored_learner l;
    leat::monitored_session_options o = l.monitored();
    o.retry.first_delay = 10s;
    monitored_session s(std::move(o));
    int looks = 0;
    const std::function<task<>()> beside = [&]() -> task<> {
      for (; !s.should_stop(); ++looks) co_await leat::sleep_for(1s);
    };
    const std::function<task<>()> body = [&]() -> task<> {
      leat::task_group group;
      group.spawn(beside());
      const std::function<task<>()> service = []() -> task<> {
        std::string why;
        try {
          co_await leat::sleep_for(1h);
        } catch (const failure&) {
          why = "a log could not be written";
        }
        if (!why.empty()) throw std::runtime_error(why);
      };
      s.get_supervisor().coord().spawn(service(), "service");
      bool failed = false;
      const std::function<task<>()> step = [&]() -> task<> {
        if (!std::exchange(failed, true)) throw failure(errc::unavailable, "a peer has gone");
        l.learn();
        co_return;
      };
      co_await s.run(step);
      CHECK(looks >= 5);
      s.request_stop();
      co_await group.join();
    };
    CHECK(co_await message_of(s.managed(body)) == "");
    CHECK(l.step == 1);
    REQUIRE(l.warnings.size() == 1);
    CHECK(contains(l.warnings[0], "secondary error: a log could not be written"));
  });
}

TEST_CASE("monitored_session: a failed open is not the end of the input", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    monitored_learner l;
    leat::monitored_session_options o = l.monitored();
    o.supervised.sessions.local_init = [](session&) -> task<> {
      throw failure(errc::out_of_range, "a table that is cut off");
      co_return;
    };
    monitored_session s(std::move(o));
    bool called = false;
    const std::function<task<>()> body = [&]() -> task<> {
      called = true;
      co_return;
    };
    CHECK(contains(co_await message_of(s.managed(body)), "a table that is cut off"));
    CHECK_FALSE(called);
    CHECK(l.open == 0);
  });
}

}  // namespace monitored_retry_test
