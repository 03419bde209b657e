// Transient failures: what TensorFlow's MonitoredSession does, a limit, growing delays, and input
// that is restored with the state.

#include "leat/io/reader/line_reader.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "leat/train/monitored/monitored_session.hpp"
#include "leat/train/monitored/standard_hooks.hpp"
#include "support/effort.hpp"
#include "train/monitored/monitored.hpp"

namespace monitored_recovery_test {

using namespace leat_test;
using leat::failure;
using leat::monitored_session;
using leat::run_context;
using leat::session;

TEST_CASE(
    "monitored_session: after one aborted or unavailable, the run resumes from the checkpoint [90]",
    "[train]") {
  for (const errc code : {errc::aborted, errc::unavailable}) {
    for (const bool saved : {false, true}) {
      in_world([&](leat::sim::world& w) -> task<> {
        monitored_learner l;
        leat::monitored_session_options o = l.monitored(saved ? "/run" : "");
        o.save_checkpoint_steps = 1;
        o.hooks.push_back(fails_once(4, code));
        monitored_session s(std::move(o));
        const std::function<task<std::int64_t>()> read = [&]() -> task<std::int64_t> {
          co_return l.step;
        };
        const std::function<task<>()> body = [&]() -> task<> {
          CHECK(co_await s.run(read) == 0);
          CHECK(co_await s.run(l.learning()) == 1);
          CHECK(co_await s.run(l.learning()) == 2);
          const auto begin = w.now();
          const std::int64_t third = co_await s.run(l.learning());
          CHECK(third == (saved ? 3 : 1));
          CHECK(w.now() - begin >= 500ms);
          CHECK_FALSE(s.should_stop());
          const std::int64_t fourth = co_await s.run(l.learning());
          CHECK(fourth == (saved ? 4 : 2));
        };
        co_await s.managed(body);
        CHECK(l.created == 2);
        CHECK(l.open == 0);
        CHECK(l.delays.size() == 1);
        CHECK(l.weight == 1 + 0.5 * static_cast<double>(l.step));
      });
    }
  }
}

TEST_CASE("monitored_session: retries after aborted during the creation of a session [91]",
          "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    monitored_learner l;
    leat::monitored_session_options o = l.monitored("");
    o.supervised.sessions.init_fn = [n = 0](session&) mutable -> task<> {
      if (++n == 1) throw failure(errc::aborted, "not yet");
      co_return;
    };
    monitored_session s(std::move(o));
    const std::function<task<>()> body = [&]() -> task<> { co_await s.run(l.learning()); };
    CHECK(co_await message_of(s.managed(body)) == "");
    CHECK(l.step == 1);
    CHECK(l.created == 2);
    CHECK(l.open == 0);
  });
}

TEST_CASE(
    "monitored_session: throws the last error after all attempts to create a session failed [91]",
    "[train]") {
  for (const bool in_step : {false, true}) {
    in_world([&](leat::sim::world&) -> task<> {
      monitored_learner l;
      leat::monitored_session_options o = l.monitored("");
      o.retry.attempts = 4;
      o.retry.seed = 1;
      int failed = 0;
      const std::function<task<>()> fail = [&]() -> task<> {
        throw failure(errc::unavailable, "failure " + std::to_string(++failed));
        co_return;
      };
      if (!in_step) o.supervised.sessions.init_fn = [&](session&) { return fail(); };
      monitored_session s(std::move(o));
      bool stopped = false;
      const std::function<task<>()> body = [&]() -> task<> {
        const std::string why = co_await message_of(s.run(fail));  // the error is still thrown
        stopped = s.should_stop();
        if (in_step) throw std::runtime_error(why);
      };
      const std::string why = co_await message_of(s.managed(body));
      CHECK(contains(why, "failure 4"));
      CHECK(failed == 4);
      CHECK(l.created == 4);
      CHECK(l.open == 0);
      CHECK(stopped == in_step);  // no session is open
      REQUIRE(l.delays.size() == 3);
      const std::vector<leat::duration> most{1s, 2s, 4s};
      for (std::size_t i = 0; i < 3; ++i) {
        CHECK(l.delays[i] <= most[i]);
        CHECK(l.delays[i] >= most[i] / 2);
      }
    });
  }
}

TEST_CASE("monitored_session: a successful run resets the count of failures [91]", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    monitored_learner l;
    leat::monitored_session_options o = l.monitored();
    o.save_checkpoint_steps = 1;
    o.retry.attempts = 2;
    for (const int run : {2, 5, 8, 11}) o.hooks.push_back(fails_once(run, errc::aborted));
    monitored_session s(std::move(o));
    const std::function<task<>()> body = [&]() -> task<> {
      while (l.step < 20) co_await s.run(l.learning());
    };
    CHECK(co_await message_of(s.managed(body)) == "");
    CHECK(l.step == 20);
    CHECK(l.created > 2);
    for (const leat::duration d : l.delays) CHECK(d <= 1s);
  });
}

TEST_CASE("monitored_session: runs that repeat lost steps do not reset the count of failures",
          "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    monitored_learner l;
    leat::monitored_session_options o = l.monitored("");
    o.retry.attempts = 3;
    monitored_session s(std::move(o));
    const std::function<task<>()> step = [&]() -> task<> {
      if (l.step == 2) throw failure(errc::unavailable, "the third step cannot be done");
      l.learn();
      co_return;
    };
    const std::function<task<>()> body = [&]() -> task<> {
      for (int i = 0; i < 100; ++i) co_await s.run(step);
    };
    CHECK(contains(co_await message_of(s.managed(body)), "cannot be done"));
    CHECK(l.created == 3);
    CHECK(l.open == 0);
  });
}

TEST_CASE("monitored_session: aborted in a background task creates another session [93]",
          "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    monitored_learner l;
    leat::monitored_session_options o = l.monitored();
    o.save_checkpoint_steps = 1;
    monitored_session s(std::move(o));
    const auto report = [&](errc code) {
      s.get_supervisor().coord().request_stop(
          std::make_exception_ptr(failure(code, "from a task")));
    };
    const std::function<task<>()> body = [&]() -> task<> {
      co_await s.run(l.learning());
      report(errc::aborted);
      CHECK_FALSE(s.should_stop());
      CHECK(co_await s.run(l.learning()) == 2);
      CHECK(l.created == 2);
      CHECK_FALSE(s.should_stop());
      report(errc::unknown);
      CHECK(s.should_stop());
    };
    CHECK(contains(co_await message_of(s.managed(body)), "from a task"));
    CHECK(l.created == 2);
  });
}

TEST_CASE("monitored_session: aborted in a background task ends the wait of a step [93]",
          "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    monitored_learner l;
    leat::monitored_session_options o = l.monitored();
    o.supervised.save_model_interval = 1h;
    o.hooks.push_back(hook_of({.after_create_session = [&](run_context& run) -> task<> {
      if (l.created > 1) co_return;
      run.get_supervisor().loop(1min, [n = 0]() mutable -> task<> {
        if (++n == 2) throw failure(errc::aborted, "a service");
        co_return;
      });
    }}));
    monitored_session s(std::move(o));
    const auto begin = w.now();
    const std::function<task<>()> body = [&]() -> task<> {
      const auto step = [&]() -> task<> {
        ++l.step;
        if (l.created == 1) co_await leat::sleep_for(10h);
      };
      co_await s.run(step);
    };
    CHECK(co_await message_of(s.managed(body)) == "");
    CHECK(w.now() - begin < 2min);
    CHECK(l.created == 2);
    CHECK(l.step == 1);  // the interrupted step was undone
  });
}

TEST_CASE("monitored_session: reports that it cannot restart without a checkpoint and init",
          "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    monitored_learner l;
    leat::monitored_session_options o = l.monitored("");
    o.supervised.sessions.init = nullptr;
    o.hooks.push_back(fails_once(2, errc::aborted));
    monitored_session s(std::move(o));
    const auto body = [&] { return run_to_the_end(s, l.learning()); };
    const std::string why = co_await message_of(s.managed(body));
    CHECK(contains(why, "cannot restart without a checkpoint"));
    CHECK(contains(why, "a peer has gone"));
    CHECK(l.created == 2);
    CHECK(l.open == 0);
  });
}

TEST_CASE("monitored_session: does not restore while a task keeps running", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    monitored_learner l;
    leat::fifo_queue<int> end(1);
    leat::monitored_session_options o = l.monitored();
    o.supervised.stop_grace = 10s;
    monitored_session s(std::move(o));
    const std::function<task<>()> body = [&]() -> task<> {
      const auto stubborn = [&]() -> task<> {
        leat::task_group shield(leat::shielded, "stubborn");
        const auto wait = [&]() -> task<> { static_cast<void>(co_await end.pop()); };
        shield.spawn(wait());
        co_await shield.join();
      };
      s.get_supervisor().coord().spawn(stubborn(), "stubborn");
      const std::function<task<>()> fails = []() -> task<> {
        throw failure(errc::unavailable, "a peer has gone");
        co_return;
      };
      co_await s.run(fails);
    };
    CHECK(contains(co_await message_of(s.managed(body)), "a peer has gone"));
    CHECK(l.created == 1);
    REQUIRE(l.warnings.size() == 2);
    CHECK(contains(l.warnings[0], "secondary error: "));
    CHECK(contains(l.warnings[0], "stubborn"));
    CHECK(contains(l.warnings[1],
                   "task does not finish: the session cannot be restored while it runs"));
    CHECK(end.try_push(1));
    co_await leat::sleep_for(1s);
  });
}

TEST_CASE("monitored_session: a stop request ends the wait for another attempt", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    monitored_learner l;
    leat::monitored_session_options o = l.monitored();
    o.retry.first_delay = o.retry.max_delay = 1h;
    monitored_session s(std::move(o));
    const std::function<task<>()> fails = []() -> task<> {
      throw failure(errc::unavailable, "a peer has gone");
      co_return;
    };
    const std::function<task<>()> body = [&]() -> task<> { co_await s.run(fails); };
    leat::task_group group;
    const auto begin = w.now();
    std::string why;
    const std::function<task<>()> work = [&]() -> task<> {
      why = co_await message_of(s.managed(body));
    };
    group.spawn(work());
    co_await leat::sleep_for(1min);
    s.request_stop();
    co_await group.join();
    CHECK(contains(why, "a peer has gone"));
    CHECK(w.now() - begin == 1min);
    CHECK(l.open == 0);
  });
}

auto lines_of_all_files() {
  return leat::read_files<leat::line_reader>({.files = {"/in/*"}, .num_epochs = 2})
      .map("text", [](std::string_view line) { return std::string(line); })
      .shuffle({.capacity = 10, .seed = 2})
      .prefetch(3);
}

// Input that is opened with its session. It is restored with the state, and stopped on every path.
struct input {
  [[nodiscard]] std::string save() const { return lines->save(); }
  task<void> restore(std::string bytes) { return lines->restore(std::move(bytes)); }
  task<session> open() {
    lines.emplace(lines_of_all_files());
    co_return session(nullptr, [this] { return lines->stop(); });
  }
  std::optional<decltype(lines_of_all_files())> lines;
};

// Returns the text learnt from all lines, in order, with random failures at every point.
task<std::string> learn_all(leat::sim::world& w, std::uint64_t one_in, int& created) {
  input in;
  std::string learnt;
  std::int64_t step = 0;
  leat::checkpoint_registry state("lines");
  state.add("learnt", learnt);
  state.add("global_step", step);
  state.add("input", in);
  const auto may_fail = [&] {
    if (w.random().uniform_below(one_in) == 0) throw failure(errc::aborted, "now");
  };
  leat::monitored_session_options o;
  o.supervised.logdir = "/run";
  o.supervised.state = &state;
  o.supervised.saver.durable = false;
  o.supervised.sessions.open = [&]() -> task<session> {
    ++created;
    return in.open();
  };
  o.save_checkpoint_steps = 5;
  o.retry.attempts = 1000;
  o.retry.first_delay = 1ms;
  leat::function_hook_options hook;
  hook.before_run = hook.after_run = [&](run_context&) -> task<> {
    may_fail();
    co_return;
  };
  hook.after_create_session = [&](run_context& run) -> task<> {
    run.get_supervisor().loop(20ms, [&]() -> task<> {
      may_fail();
      co_return;
    });
    co_return;
  };
  o.hooks.push_back(hook_of(hook));
  monitored_session s(std::move(o));
  const std::function<task<>()> learn = [&]() -> task<> {
    auto line = co_await in.lines->next();
    if (!line) throw failure(errc::out_of_range, "no more lines");
    const std::string half = line->substr(0, line->size() / 2);
    learnt += half;
    co_await leat::sleep_for(std::chrono::microseconds(w.random().uniform_below(3000)));
    may_fail();
    learnt += line->substr(half.size()) + '\n';
    ++step;
  };
  const std::function<task<>()> body = [&]() -> task<> {
    while (!s.should_stop()) co_await s.run(learn);
  };
  co_await s.managed(body);
  co_return learnt;
}

TEST_CASE("monitored_session: learns each line once after any failure", "[train]") {
  std::string expected;
  int all_created = 0;
  const std::uint64_t seeds = scaled_count(40);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    leat::sim::world w(seed);
    for (char name = 'a'; name < 'd'; ++name) {
      std::string text;
      for (int i = 0; i < 12; ++i) text += name + std::to_string(100 + i) + '\n';
      w.files().write_file(std::string("/in/") + name, text);
    }
    std::string learnt;
    w.run([&](leat::sim::world& here) -> task<> {
      learnt = co_await learn_all(here, seed == 1 ? 1'000'000 : 40, all_created);
    });
    if (expected.empty()) expected = learnt;
    CHECK(learnt == expected);
    CHECK(std::ranges::count(learnt, '\n') == 72);
    CHECK(w.files().open_files() == 0);
  }
  CHECK(all_created > 2 * static_cast<int>(seeds));
}

}  // namespace monitored_recovery_test
