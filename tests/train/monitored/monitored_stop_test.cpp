// Stops of a monitored session and the state that is saved: from outside, after a run, immediately,
// and during a save; and hooks that fail.

#include <limits>

#include "leat/train/monitored/standard_hooks.hpp"
#include "train/monitored/monitored.hpp"

namespace monitored_stop_test {

using namespace leat_test;
using leat::failure;
using leat::monitored_session;
using leat::run_context;

// Returns a hook that saves after each run.
std::shared_ptr<leat::session_hook> saves_each_step(
    std::function<task<>(std::int64_t step)> before_save) {
  leat::checkpoint_saver_hook_options o;
  o.every = {.steps = 1};
  o.listeners.push_back({.before_save = std::move(before_save)});
  return std::make_shared<leat::checkpoint_saver_hook>(o);
}

TEST_CASE("monitored_session: does not save a step that an outside stop cancelled", "[train]") {
  for (const bool in_step : {true, false}) {
    in_world([&](leat::sim::world& w) -> task<> {
      monitored_learner l;
      bool ended = false;
      bool cancelled = false;
      const std::function<task<>()> work = [&]() -> task<> {
        leat::monitored_session_options o = l.monitored();
        o.hooks.push_back(hook_of({.end = [&](run_context&) -> task<> {
          co_await leat::sleep_for(1s);  // a stop does not end it
          ended = true;
        }}));
        monitored_session s(std::move(o));
        const std::function<task<>()> body = [&]() -> task<> {
          const auto step = [&]() -> task<> {
            l.learn();
            if (in_step) co_await leat::sleep_for(1s);
          };
          for (;;) {
            co_await s.run(step);
            if (!in_step) co_await leat::sleep_for(1s);
          }
        };
        try {
          co_await s.managed(body);
        } catch (const failure& e) {
          cancelled = e.code() == errc::cancelled;
        }
      };
      leat::task_group group;
      group.spawn(work());
      co_await leat::sleep_for(9500ms);
      group.request_stop();
      co_await group.join();
      CHECK(cancelled);
      CHECK(l.step == 10);
      CHECK(ended == !in_step);
      CHECK(has_file(w, "/run/model.ckpt-10") == !in_step);
      CHECK(l.open == 0);
    });
  }
}

TEST_CASE("monitored_session: a stop request lets the run and its save finish", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    monitored_learner l;
    leat::monitored_session_options o = l.monitored();
    monitored_session* running = nullptr;
    const auto before_save = [&](std::int64_t step) -> task<> {
      if (step == 3) running->request_stop();  // while it saves
      co_return;
    };
    o.hooks.push_back(saves_each_step(before_save));
    o.supervised.save_model_interval = 0s;
    o.supervised.save_at_end = false;
    monitored_session s(std::move(o));
    running = &s;
    const auto body = [&] { return run_to_the_end(s, l.learning()); };
    CHECK(co_await message_of(s.managed(body)) == "");
    CHECK(l.step == 3);
    CHECK(has_file(w, "/run/model.ckpt-3"));
  });
}

TEST_CASE("monitored_session: an immediate stop cancels a save, and the older checkpoint remains",
          "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    monitored_learner l;
    leat::monitored_session_options o = l.monitored();
    monitored_session* running = nullptr;
    const auto before_save = [&](std::int64_t step) -> task<> {
      if (step != 3) co_return;
      running->get_supervisor().request_stop(
          std::make_exception_ptr(std::runtime_error("a service")));
    };
    o.hooks.push_back(saves_each_step(before_save));
    monitored_session s(std::move(o));
    running = &s;
    const auto body = [&] { return run_to_the_end(s, l.learning()); };
    CHECK(co_await message_of(s.managed(body)) == "a service");
    CHECK(l.step == 3);
    CHECK_FALSE(has_file(w, "/run/model.ckpt-3"));
    monitored_learner again;
    monitored_session next(again.monitored());
    const std::function<task<>()> look = [&]() -> task<> {
      CHECK(again.step == 2);
      co_return;
    };
    co_await next.managed(look);
  });
}

TEST_CASE("monitored_session: an immediate clean stop ends the body without an error", "[train]") {
  for (const bool in_step : {true, false}) {
    in_world([&](leat::sim::world& w) -> task<> {
      monitored_learner l;
      monitored_session s(l.monitored());
      const auto begin = w.now();
      const std::function<task<>()> wait = []() -> task<> { co_await leat::sleep_for(10h); };
      const std::function<task<>()> body = [&]() -> task<> {
        co_await s.run(l.learning());
        s.get_supervisor().loop(1min, [n = 0]() mutable -> task<> {
          if (++n == 2) throw failure(errc::out_of_range, "the end");
          co_return;
        });
        task<> waiting = in_step ? s.run(wait) : wait();
        co_await std::move(waiting);
      };
      CHECK(co_await message_of(s.managed(body)) == "");
      CHECK(w.now() - begin < 2min);
      CHECK(has_file(w, "/run/model.ckpt-1") == !in_step);
    });
  }
}

TEST_CASE("monitored_session: reports or throws an error of a hook after a clean stop", "[train]") {
  for (const bool thrown : {true, false}) {
    in_world([&](leat::sim::world&) -> task<> {
      monitored_learner l;
      leat::monitored_session_options o = l.monitored();
      o.supervised.throw_after_clean_stop = thrown;
      monitored_session* running = nullptr;
      o.hooks.push_back(hook_of({.after_run = [&](run_context&) -> task<> {
        running->get_supervisor().request_stop();
        throw std::runtime_error("too late");
        co_return;
      }}));
      monitored_session s(std::move(o));
      running = &s;
      const std::function<task<>()> body = [&]() -> task<> { co_await s.run(l.learning()); };
      CHECK(co_await message_of(s.managed(body)) == (thrown ? "too late" : ""));
      CHECK(l.step == 1);
    });
  }
}

TEST_CASE("monitored_session: calls end() of all hooks and throws the first error", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    monitored_learner l;
    leat::monitored_session_options o = l.monitored();
    const auto failing = [](std::string what) {
      leat::function_hook_options hook;
      hook.end = [what](run_context&) -> task<> {
        throw failure(errc::out_of_range, what);  // not the end of the input here
        co_return;
      };
      return hook_of(hook);
    };
    o.hooks.push_back(failing("first"));
    o.hooks.push_back(failing("second"));
    monitored_session s(std::move(o));
    const std::function<task<>()> body = [&]() -> task<> { co_await s.run(l.learning()); };
    CHECK(contains(co_await message_of(s.managed(body)), "first"));
    CHECK(s.get_supervisor().coord().secondary_errors().size() == 1);
    CHECK(has_file(w, "/run/model.ckpt-1"));
    CHECK(l.open == 0);
    const words events = leat_test::events_in_words(w);
    CHECK(events.back() == "STOP");
  });
}

TEST_CASE("monitored_session: opens nothing if begin() of a hook fails", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    monitored_learner l;
    leat::monitored_session_options o = l.monitored();
    o.hooks.push_back(hook_of({.begin = [](leat::supervisor&) -> task<> {
      throw std::runtime_error("not ready");
      co_return;
    }}));
    monitored_session s(std::move(o));
    bool called = false;
    const std::function<task<>()> body = [&]() -> task<> {
      called = true;
      co_return;
    };
    CHECK(co_await message_of(s.managed(body)) == "not ready");
    CHECK_FALSE(called);
    CHECK(l.created == 0);
    CHECK(w.files().files().empty());
  });
}

TEST_CASE("monitored_session: the body can catch an error of a hook or of the last attempt",
          "[train]") {
  for (const bool passes : {false, true}) {
    in_world([&](leat::sim::world& w) -> task<> {
      monitored_learner l;
      leat::monitored_session_options o = l.monitored();
      o.retry.attempts = 1;
      o.hooks.push_back(
          leat_test::fails_once(2, passes ? errc::unavailable : errc::invalid_argument));
      monitored_session s(std::move(o));
      const std::function<task<>()> body = [&]() -> task<> {
        co_await s.run(l.learning());
        CHECK(contains(co_await message_of(s.run(l.learning())), "a peer has gone"));
        CHECK_FALSE(s.should_stop());
        co_await s.run(l.learning());
      };
      CHECK(co_await message_of(s.managed(body)) == "");
      CHECK(l.created == 1);
      CHECK(has_file(w, "/run/model.ckpt-2"));  // the state is complete
    });
  }
  in_world([](leat::sim::world&) -> task<> {
    monitored_learner l;
    leat::monitored_session_options o = l.monitored();
    o.retry.attempts = 2;
    monitored_session s(std::move(o));
    const std::function<task<>()> fails = []() -> task<> {
      throw failure(errc::aborted, "again and again");
      co_return;
    };
    const std::function<task<>()> body = [&]() -> task<> {
      CHECK(contains(co_await message_of(s.run(fails)), "again and again"));
      CHECK(s.should_stop());
    };
    CHECK(contains(co_await message_of(s.managed(body)), "again and again"));
    CHECK(l.open == 0);
  });
}

TEST_CASE("monitored_session: does not save a step that a hook rejected", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    monitored_learner l;
    leat::monitored_session_options o = l.monitored();
    o.save_checkpoint_steps = 1;
    o.hooks.push_back(std::make_shared<leat::nan_hook>());
    monitored_session s(std::move(o));
    const auto step = [&](run_context& run) -> task<> {
      l.learn();
      run.results().add("loss", l.step == 3 ? std::numeric_limits<double>::quiet_NaN() : 1.0);
      co_return;
    };
    const std::function<task<>()> body = [&]() -> task<> {
      while (!s.should_stop()) co_await s.run(step);
    };
    CHECK(contains(co_await message_of(s.managed(body)), "NaN loss during training"));
    CHECK(has_file(w, "/run/model.ckpt-2"));
    CHECK_FALSE(has_file(w, "/run/model.ckpt-3"));
  });
}

TEST_CASE("monitored_session: can be closed once after single steps", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    monitored_learner l;
    monitored_session s(l.monitored());
    const std::function<task<>()> run = [&]() -> task<> { co_await s.run(l.learning()); };
    const std::function<task<>()> close = [&]() -> task<> { co_await s.close(); };
    CHECK(s.should_stop());
    CHECK(contains(co_await message_of(run()), "run() called while the session is not open"));
    co_await s.open();
    CHECK_FALSE(s.should_stop());
    co_await run();
    co_await close();
    CHECK(s.should_stop());
    CHECK(contains(co_await message_of(close()), "close() called while the session is not open"));
    CHECK(contains(co_await message_of(run()), "run() called while the session is not open"));
    CHECK(has_file(w, "/run/model.ckpt-1"));

    monitored_learner other;  // and a body may close its own
    monitored_session mine(other.monitored("/other"));
    const std::function<task<>()> body = [&]() -> task<> {
      co_await mine.close();
      throw std::runtime_error("behind it");
    };
    CHECK(co_await message_of(mine.managed(body)) == "behind it");
  });
}

TEST_CASE("monitored_session: a worker restores from its chief and writes nothing", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    monitored_learner worker;
    bool called = false;
    leat::monitored_session_options o = worker.monitored();
    o.supervised.is_chief = false;
    o.chief_only_hooks.push_back(hook_of({.after_run = [&](run_context&) -> task<> {
      called = true;
      co_return;
    }}));
    monitored_session late(std::move(o));
    const std::function<task<>()> one_step = [&]() -> task<> {
      CHECK(co_await late.run(worker.learning()) == 3);
    };
    leat::task_group group;
    const std::function<task<>()> wait = [&]() -> task<> { co_await late.managed(one_step); };
    group.spawn(wait());
    co_await leat::sleep_for(45s);  // it checks again after a minute
    monitored_learner chief;
    monitored_session s(chief.monitored());
    const std::function<task<>()> body = [&]() -> task<> {
      co_await s.run(chief.learning());
      co_await s.run(chief.learning());
    };
    co_await s.managed(body);
    const auto files = w.files().files();
    co_await group.join();
    CHECK_FALSE(called);
    CHECK(w.files().files() == files);
  });
}

TEST_CASE("monitored_session: rejects invalid options", "[train]") {
  monitored_learner l;
  const auto refused = [&](leat::monitored_session_options o) {
    return leat_test::refusal([&] {
      const monitored_session s(std::move(o));
      return 0;
    });
  };
  leat::monitored_session_options o = l.monitored();
  o.hooks.push_back(nullptr);
  CHECK(contains(refused(std::move(o)), "hooks contains a null pointer"));
  o = l.monitored();
  o.retry.attempts = 0;
  CHECK(contains(refused(std::move(o)), "retry_policy::attempts is 0"));
  o = l.monitored();
  o.save_checkpoint_steps = -1;
  CHECK(
      contains(refused(std::move(o)), "save_checkpoint_steps or save_summaries_steps is negative"));
}

}  // namespace monitored_stop_test
