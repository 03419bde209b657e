// Steps with hooks, and their end: what leat shares with TensorFlow's MonitoredSession, and what
// differs.

#include "leat/train/monitored/monitored_session.hpp"

#include "leat/pipeline/metrics/stage_metrics.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/train/monitored/standard_hooks.hpp"
#include "leat/train/summary/event_reader.hpp"
#include "train/monitored/monitored.hpp"

namespace monitored_session_test {

using namespace leat_test;
using leat::failure;
using leat::monitored_session;
using leat::run_context;

TEST_CASE("monitored_session: an error of a background task ends the loop and is thrown [93]",
          "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    monitored_learner l;
    monitored_session s(l.monitored());
    int ran = 0;
    const std::function<task<>()> body = [&]() -> task<> {
      co_await s.run(l.learning());
      s.get_supervisor().coord().request_stop(
          std::make_exception_ptr(failure(errc::unknown, "a task wants to stop")));
      CHECK(s.should_stop());
      ran = static_cast<int>(co_await s.run([]() -> task<int> { co_return 7; }));  // does not wait
      CHECK(s.should_stop());
    };
    CHECK(contains(co_await message_of(s.managed(body)), "a task wants to stop"));
    CHECK(ran == 7);
    CHECK(l.created == 1);
    CHECK(l.open == 0);
    CHECK(s.should_stop());
  });
}

TEST_CASE(
    "monitored_session: an error of a background task cancels waits of a step and the body [93]",
    "[train]") {
  for (const bool in_step : {true, false}) {
    in_world([&](leat::sim::world& w) -> task<> {
      monitored_learner l;
      monitored_session s(l.monitored());
      const auto begin = w.now();
      const std::function<task<>()> wait = []() -> task<> { co_await leat::sleep_for(10h); };
      std::string thrown_in_body;
      const std::function<task<>()> body = [&]() -> task<> {
        s.get_supervisor().loop(1min, [n = 0]() mutable -> task<> {
          if (++n == 2) throw std::runtime_error("a service");
          co_return;
        });
        task<> waiting = in_step ? s.run(wait) : wait();
        thrown_in_body = co_await message_of(std::move(waiting));
      };
      CHECK(co_await message_of(s.managed(body)) == "a service");
      CHECK(contains(thrown_in_body, in_step ? "a service" : "cancelled"));
      CHECK(w.now() - begin < 2min);
      CHECK_FALSE(has_file(w, "/run/model.ckpt-1"));
    });
  }
}

TEST_CASE("monitored_session: rejects a run after a hook requested a stop [94]", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    monitored_learner l;
    leat::monitored_session_options o = l.monitored();
    o.hooks.push_back(
        std::make_shared<leat::stop_at_step_hook>(leat::stop_at_step_hook_options{.last_step = 3}));
    monitored_session s(std::move(o));
    const std::function<task<>()> body = [&]() -> task<> {
      co_await run_to_the_end(s, l.learning());
      CHECK(l.step == 3);
      CHECK(contains(co_await message_of(s.run(l.learning())),
                     "Run called even after should_stop requested"));
    };
    CHECK(co_await message_of(s.managed(body)) == "");
    CHECK(l.step == 3);
    CHECK(has_file(w, "/run/model.ckpt-3"));
  });
}

TEST_CASE("monitored_session: rejects an input that two hooks, or a hook and the caller, set [94]",
          "[train]") {
  for (const bool by_caller : {true, false}) {
    in_world([&](leat::sim::world&) -> task<> {
      monitored_learner l;
      leat::monitored_session_options o = l.monitored();
      leat::function_hook_options feeding;
      feeding.before_run = [](run_context& run) -> task<> {
        run.feed("rate", 0.5);
        co_return;
      };
      o.hooks.push_back(hook_of(feeding));
      if (!by_caller) o.hooks.push_back(hook_of(feeding));
      monitored_session s(std::move(o));
      bool ran = false;
      const std::function<task<>()> body = [&]() -> task<> {
        leat::named_values inputs;
        if (by_caller) inputs.add("rate", 1.0);
        const auto step = [&]() -> task<> {
          ran = true;
          co_return;
        };
        co_await s.run(step, std::move(inputs));
      };
      CHECK(contains(co_await message_of(s.managed(body)),
                     "Same tensor is fed: input 'rate' was already set"));
      CHECK_FALSE(ran);
    });
  }
}

TEST_CASE(
    "monitored_session: passes inputs of hooks and caller to the step, and its results to hooks "
    "[94]",
    "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    monitored_learner l;
    leat::monitored_session_options o = l.monitored();
    words seen;
    leat::function_hook_options hook;
    hook.before_run = [](run_context& run) -> task<> {
      run.feed("rate", 0.5);
      co_return;
    };
    hook.after_run = [&](run_context& run) -> task<> {
      seen.push_back(std::to_string(run.results().get<int>("loss")) + " at step " +
                     std::to_string(run.global_step().value_or(-1)));
      co_return;
    };
    o.hooks.push_back(hook_of(hook));
    monitored_session s(std::move(o));
    const std::function<task<>()> body = [&]() -> task<> {
      for (int i = 1; i <= 2; ++i) {
        leat::named_values inputs;
        inputs.add("scale", 20 * i);
        const auto step = [&](run_context& run) -> task<bool> {
          const double rate = run.inputs().get<double>("rate");
          run.results().add("loss", static_cast<int>(rate * run.inputs().get<int>("scale")));
          l.learn();
          co_return true;
        };
        CHECK(co_await s.run(step, std::move(inputs)));
      }
    };
    co_await s.managed(body);
    CHECK((seen == words{"10 at step 1", "20 at step 2"}));
  });
}

// A separate job, which runs some steps and ends.
task<> train_once(monitored_learner& l, leat::monitored_session_options o, int steps) {
  monitored_session s(std::move(o));
  const std::function<task<>()> body = [&]() -> task<> {
    for (int i = 0; i < steps; ++i) co_await s.run(l.learning());
  };
  co_await s.managed(body);
}

TEST_CASE(
    "monitored_session: resumes from checkpoints, or starts from the beginning without them [99]",
    "[train]") {
  for (const bool saved : {true, false}) {
    in_world([&](leat::sim::world&) -> task<> {
      for (int round = 0; round < 2; ++round) {
        monitored_learner l;
        leat::monitored_session_options o = l.monitored();
        o.supervised.save_at_end = saved;
        if (!saved) o.supervised.save_model_interval = 0s;
        co_await train_once(l, std::move(o), 2);
        CHECK(l.step == (saved && round == 1 ? 4 : 2));
      }
    });
  }
}

TEST_CASE("monitored_session: saves every 100 steps, with summaries in another directory [99]",
          "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    monitored_learner l;
    leat::monitored_session_options o = l.monitored();
    o.save_checkpoint_steps = 100;
    o.save_summaries_steps = 50;
    o.supervised.save_at_end = false;
    o.supervised.summary_dir = "/summaries";
    o.supervised.summaries = [] { return leat::summary().add_scalar("own", 1); };
    co_await train_once(l, std::move(o), 150);
    CHECK(has_file(w, "/run/model.ckpt-100"));
    CHECK_FALSE(has_file(w, "/run/model.ckpt-150"));
    monitored_learner again;
    co_await train_once(again, again.monitored(), 0);
    CHECK(again.step == 100);
    const leat::event_run run = co_await leat::read_events("/summaries");
    REQUIRE(run.series.scalars.at("own").size() == 3);
    CHECK(run.series.scalars.at("own")[1].step == 51);
    CHECK(run.series.scalars.at("global_step/sec").size() == 2);
    CHECK(leat_test::events_in_words(w, "/summaries")[1] == "START");
  });
}

TEST_CASE("monitored_session: writes fill levels of queues and rates of stages", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    monitored_learner l;
    leat::fifo_queue<int> lines(4, "lines");
    CHECK(lines.try_push(1));
    leat::stage_metrics decode("decode");
    decode.add_task();
    leat::monitored_session_options o = l.monitored();
    o.supervised.save_summaries_interval = 5s;
    o.supervised.queues = {&lines};
    o.supervised.stages = {&decode};
    monitored_session s(std::move(o));
    const std::function<task<>()> step = [&]() -> task<> {
      l.learn();
      decode.add(20, 200);
      co_await leat::sleep_for(1s);
    };
    const std::function<task<>()> body = [&]() -> task<> {
      for (int i = 0; i < 12; ++i) co_await s.run(step);
    };
    co_await s.managed(body);
    const leat::event_run run = co_await leat::read_events("/run");
    const auto& full = run.series.scalars.at("lines/fraction_of_4_full");
    REQUIRE(full.size() == 3);
    CHECK(full[0].value == 0.25F);
    const auto& rate = run.series.scalars.at("decode/records_per_second");
    REQUIRE(rate.size() == 2);  // none of the first run
    CHECK(rate[0].value == 20);
  });
}

TEST_CASE("monitored_session: a job at its last step runs no further step", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    for (int round = 0; round < 2; ++round) {
      monitored_learner l;
      leat::monitored_session_options o = l.monitored();
      o.hooks.push_back(std::make_shared<leat::stop_at_step_hook>(
          leat::stop_at_step_hook_options{.last_step = 5}));
      monitored_session s(std::move(o));
      const std::function<task<>()> body = [&]() -> task<> {
        CHECK(s.should_stop() == (round == 1));
        co_await run_to_the_end(s, l.learning());
      };
      co_await s.managed(body);
      CHECK(l.step == 5);
    }
    CHECK_FALSE(has_file(w, "/run/model.ckpt-6"));
  });
}

TEST_CASE("monitored_session: calls hooks in order, and saving hooks last", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    monitored_learner l;
    words called;
    const auto noting = [&](std::string who) {
      leat::function_hook_options o;
      const auto note = [&called, who](std::string what) {
        return [&called, who, what](auto&) -> task<> {
          called.push_back(who + " " + what);
          co_return;
        };
      };
      o.begin = note("begin");
      o.after_create_session = note("created");
      o.before_run = note("before");
      o.after_run = note("after");
      o.end = note("end");
      return hook_of(o);
    };
    leat::monitored_session_options o = l.monitored();
    o.hooks.push_back(noting("a"));
    o.chief_only_hooks.push_back(noting("chief"));
    monitored_session s(std::move(o));
    const std::function<task<>()> body = [&]() -> task<> { co_await s.run(l.learning()); };
    co_await s.managed(body);
    CHECK((called == words{"chief begin", "a begin", "chief created", "a created", "chief before",
                           "a before", "chief after", "a after", "chief end", "a end"}));
  });
}

TEST_CASE("monitored_session: end of input in a step is a clean end and is saved", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    monitored_learner l;
    bool ended = false;
    leat::monitored_session_options o = l.monitored();
    o.hooks.push_back(hook_of({.end = [&](run_context&) -> task<> {
      ended = true;
      co_return;
    }}));
    monitored_session s(std::move(o));
    const std::function<task<>()> body = [&]() -> task<> {
      const auto step = [&]() -> task<> {
        if (l.step == 4) throw failure(errc::out_of_range, "no more input");
        l.learn();
        co_return;
      };
      while (!s.should_stop()) co_await s.run(step);
    };
    CHECK(co_await message_of(s.managed(body)) == "");
    CHECK(ended);
    CHECK(has_file(w, "/run/model.ckpt-4"));
  });
}

TEST_CASE("monitored_session: after an error, saves nothing and calls no end() of a hook",
          "[train]") {
  for (const bool swallowed : {false, true}) {
    in_world([&](leat::sim::world& w) -> task<> {
      monitored_learner l;
      int after = 0;
      bool ended = false;
      leat::monitored_session_options o = l.monitored();
      leat::function_hook_options hook;
      hook.after_run = [&](run_context&) -> task<> {
        ++after;
        co_return;
      };
      hook.end = [&](run_context&) -> task<> {
        ended = true;
        co_return;
      };
      o.hooks.push_back(hook_of(hook));
      monitored_session s(std::move(o));
      const std::function<task<>()> body = [&]() -> task<> {
        co_await s.run(l.learning());
        const std::function<task<>()> fails = [&]() -> task<> {
          ++l.step;
          throw std::runtime_error("in the midst of a step");
          co_return;
        };
        if (swallowed) {
          CHECK(co_await message_of(s.run(fails)) == "in the midst of a step");
        } else {
          co_await s.run(fails);
        }
      };
      const std::string why = co_await message_of(s.managed(body));
      CHECK(why == (swallowed ? "" : "in the midst of a step"));
      CHECK(after == 1);
      CHECK_FALSE(ended);
      CHECK_FALSE(has_file(w, "/run/model.ckpt-1"));
      CHECK_FALSE(has_file(w, "/run/model.ckpt-2"));
      CHECK(l.open == 0);
      CHECK(l.warnings.size() == (swallowed ? 1 : 0));
    });
  }
}

}  // namespace monitored_session_test
