// Several tasks of a supervised body with concurrent steps.

#include "leat/queue/fifo_queue.hpp"
#include "leat/train/supervisor/supervisor.hpp"
#include "support/effort.hpp"
#include "train/line_job.hpp"

namespace step_groups_test {

using namespace leat_test;
using leat::supervisor;

TEST_CASE("supervisor: a stop() that abandons a late element ends all waits for it") {
  in_world_with_lines([](leat::sim::world& w) -> task<> {
    two_jobs both;
    both.a.wait = 30s;
    leat::supervisor_options o = both.a.options();
    o.save_model_interval = leat::duration::zero();
    supervisor sv(std::move(o));
    leat::task_group other("other");
    other.spawn(stop_and_wait_later(sv, 3500ms));
    const auto body = [&]() -> task<> {
      leat::task_group group(leat::shielded, "shielded");
      group.spawn([&]() -> task<> { static_cast<void>(co_await message_of(both.a.body())); });
      group.spawn([&]() -> task<> { static_cast<void>(co_await message_of(both.b.body())); });
      co_await group.join();
    };
    const auto begin = w.now();
    CHECK(co_await message_of(sv.managed(body)) == "");
    CHECK(w.now() - begin < 40s);
    co_await other.join();
  });
}

// `a` saves within its first element, `b` and `c` have elements meanwhile.
task<leat::duration> save_within(leat::sim::world& w, leat::duration before_save,
                                 leat::duration save_model_interval, leat::duration of_b) {
  write_input(w);
  two_jobs jobs;
  line_job c;
  jobs.a.state.add("third learnt", c.learnt);
  jobs.a.state.add("third input", c.batches);
  leat::supervisor_options o = jobs.a.options();
  o.save_model_interval = save_model_interval;
  supervisor sv(std::move(o));
  jobs.b.wait = of_b;
  leat::duration saved{};
  const auto begin = w.now();
  const auto learn = [&]() -> task<> {
    co_await jobs.a.batches.for_each([&](std::string line) -> task<> {
      if (jobs.a.step == 0) {
        co_await leat::sleep_for(before_save);
        co_await sv.save_between_steps();
        saved = w.now() - begin;
      }
      co_await jobs.a.learn(std::move(line));
    });
  };
  const auto body = [&]() -> task<> {
    co_await leat::with_task_group([&](leat::task_group& group) -> task<> {
      group.spawn(learn);
      group.spawn(jobs.b.body());
      group.spawn(c.body());
      co_return;
    });
  };
  CHECK(co_await message_of(sv.managed(body)) == "");
  CHECK(jobs.b.step == lines_in_all);
  CHECK(c.step == lines_in_all);
  co_return saved;
}

TEST_CASE("supervisor: no other element begins before an element that waits for a save") {
  in_world(
      [](leat::sim::world& w) -> task<> { CHECK(co_await save_within(w, 1s, 0s, 15s) < 40s); });
  in_world(
      [](leat::sim::world& w) -> task<> { CHECK(co_await save_within(w, 20s, 5s, 1300ms) < 30s); });
}

TEST_CASE("supervisor: a save does not hang if a step() waits for another step()") {
  in_world([](leat::sim::world& w) -> task<> {
    line_job j;
    leat::supervisor_options o = j.options();
    o.step_grace = 2s;
    int saves = 0;
    o.on_saved = [&](std::string, std::optional<std::int64_t>) -> task<> {
      ++saves;
      co_return;
    };
    supervisor sv(std::move(o));
    leat::fifo_queue<int> between(1, "between");
    const auto make = [&]() -> task<> {
      for (int i = 0; i < 99; ++i) {
        const auto here = co_await sv.step();
        co_await leat::sleep_for(1s);
        co_await between.push(i);
      }
      between.close();
    };
    const auto learn = [&]() -> task<> {
      for (bool more = true; more;) {
        const auto here = co_await sv.step();
        for (int i = 0; i < 3; ++i) more = (co_await between.pop()).has_value();
      }
    };
    const auto body = [&]() -> task<> {
      co_await leat::with_task_group([&](leat::task_group& group) -> task<> {
        group.spawn(make);
        group.spawn(learn);
        co_return;
      });
    };
    const auto begin = w.now();
    CHECK(co_await message_of(sv.managed(body)) == "");
    CHECK(w.now() - begin < 10min);
    CHECK(saves > 1);
    REQUIRE(j.warnings.size() == 1);
    CHECK(contains(j.warnings[0], "save waited 2 s"));
  });
}

TEST_CASE("supervisor: a stop request during clean-up keeps the origin of the stop") {
  enum class who { service, service_at_coordinator, body };
  for (const who last : {who::service, who::service_at_coordinator, who::body}) {
    for (const stop_function stop : {&stop_after_step, &stop_now}) {
      in_world_with_lines([last, stop](leat::sim::world&) -> task<> {
        line_job j;
        supervisor sv(j.options());
        leat::task_group other("other");
        other.spawn(stop_later(sv, 3500ms, stop));
        const auto serve = [&]() -> task<> {
          const auto wait = []() -> task<> { co_await leat::sleep_for(10h); };
          static_cast<void>(co_await message_of(wait()));
          if (last == who::service) sv.request_stop();
          if (last == who::service_at_coordinator) sv.coord().request_stop();
        };
        const auto body = [&]() -> task<> {
          if (last != who::body) sv.coord().spawn(serve);
          const std::string thrown = co_await message_of(j.body());
          if (last == who::body) sv.request_stop();
          if (!thrown.empty()) throw leat::failure(leat::errc::cancelled, thrown);
        };
        CHECK(co_await message_of(sv.managed(body)) == "");
        co_await other.join();
        CHECK(sv.stopped());
      });
    }
  }
}

TEST_CASE("supervisor: no step() begins while at_end runs in stop() of another task") {
  for (const leat::duration wait : {5000ms, 5200ms, 5400ms, 5600ms}) {
    in_world([wait](leat::sim::world& w) -> task<> {
      line_job j;
      leat::supervisor_options o = j.options();
      o.save_model_interval = leat::duration::zero();
      std::int64_t at_begin = 0;
      o.at_end = [&]() -> task<> {
        at_begin = j.step;
        co_await leat::sleep_for(wait);
        CHECK(j.step == at_begin);
      };
      supervisor sv(std::move(o));
      leat::task_group other("other");
      other.spawn(stop_and_wait_later(sv, 3800ms));
      const auto steps = [&]() -> task<> {
        for (;;) {
          {
            const auto here = co_await sv.step();
            co_await leat::sleep_for(700ms);
            ++j.step;
          }
          co_await leat::sleep_for(300ms);
        }
      };
      const auto body = [&]() -> task<> {
        leat::task_group group(leat::shielded, "shielded");
        group.spawn(steps);
        co_await group.join();
      };
      CHECK(co_await message_of(sv.managed(body)) == "");
      co_await other.join();
      CHECK(sv.stopped());
      CHECK(j.warnings.empty());
      CHECK(has_file(w, "/run/model.ckpt-" + std::to_string(at_begin)));
    });
  }
}

TEST_CASE("supervisor: a loop around next() may feed the element for whose end a stop waits") {
  in_world_with_lines([](leat::sim::world& w) -> task<> {
    two_jobs both;
    leat::supervisor_options o = both.a.options();
    o.save_model_interval = leat::duration::zero();
    supervisor sv(std::move(o));
    leat::task_group other("other");
    other.spawn(stop_later(sv, 4500ms, &stop_after_step));
    leat::fifo_queue<std::string> between(1, "between");
    const auto feed = [&]() -> task<> {
      while (auto line = co_await both.b.batches.next()) {
        co_await leat::sleep_for(500ms);
        co_await between.push(*line);
      }
      between.close();
    };
    const auto learn = [&]() -> task<> {
      co_await both.a.batches.for_each([&](std::string line) -> task<> {
        for (int i = 0; i < 10; ++i) static_cast<void>(co_await between.pop());
        co_await both.a.learn(std::move(line));
      });
    };
    const auto body = [&]() -> task<> {
      co_await leat::with_task_group([&](leat::task_group& group) -> task<> {
        group.spawn(feed);
        group.spawn(learn);
        co_return;
      });
    };
    CHECK(co_await message_of(sv.managed(body)) == "");
    co_await other.join();
    CHECK(sv.stopped());
    CHECK(both.a.step == 1);
    CHECK(both.a.warnings.empty());
    CHECK(has_file(w, "/run/model.ckpt-1"));
  });
}

auto shuffled_lines() {
  return leat::read_files<leat::line_reader>({.files = {"/in/*"}})
      .shuffle({.capacity = 6, .seed = 3})
      .map("text", [](std::string_view line) { return std::string(line); })
      .prefetch(2);
}

struct shuffled_job {
  shuffled_job() : a(shuffled_lines()), b(shuffled_lines()), state("shuffled") {
    state.add("global_step", step);
    state.add("a", a);
    state.add("b", b);
    state.add("of a", of_a);
    state.add("of b", of_b);
  }
  decltype(shuffled_lines()) a;
  decltype(shuffled_lines()) b;
  std::int64_t step = 0;
  std::string of_a;
  std::string of_b;
  leat::checkpoint_registry state;
};

task<> learn_slowly(leat::sim::world& w, shuffled_job& j, decltype(shuffled_lines())& from,
                    std::string& learnt) {
  co_await from.for_each([&](std::string line) -> task<> {
    learnt += line;
    co_await leat::sleep_for(std::chrono::milliseconds(w.random().uniform_below(1200)));
    learnt += ';';
    ++j.step;
  });
}

task<> learn_at_once(shuffled_job& j, decltype(shuffled_lines())& from, std::string& learnt) {
  co_await from.for_each([&](std::string line) {
    learnt += line + ';';
    ++j.step;
  });
}

task<> stop_somehow(leat::sim::world& w, supervisor& sv) {
  co_await leat::sleep_for(std::chrono::milliseconds(w.random().uniform_below(12'000)));
  const auto way = w.random().uniform_below(4);
  if (way == 0) sv.request_stop();
  if (way == 1) sv.request_stop_after_step();
  if (way == 2) co_await sv.stop();
  if (way == 3) sv.coord().request_stop();
}

// Runs the job once. Returns true if everything was learnt.
task<bool> run_once(leat::sim::world& w, const std::string& all) {
  shuffled_job j;
  leat::supervisor_options o;
  o.logdir = "/run";
  o.state = &j.state;
  o.write_events = false;
  o.save_model_interval = std::chrono::milliseconds(300 + w.random().uniform_below(4000));
  o.step_grace = std::chrono::milliseconds(1500 + w.random().uniform_below(2000));
  o.saver.copy_values = w.random().uniform_below(2) == 0;
  supervisor sv(std::move(o));
  leat::task_group other("other");
  other.spawn(stop_somehow(w, sv));
  const bool at_once = w.random().uniform_below(2) == 0;
  bool finished = false;
  const auto body = [&]() -> task<> {
    co_await leat::with_task_group([&](leat::task_group& group) -> task<> {
      group.spawn(learn_slowly(w, j, j.a, j.of_a));
      group.spawn(at_once ? learn_at_once(j, j.b, j.of_b) : learn_slowly(w, j, j.b, j.of_b));
      co_return;
    });
    finished = true;
  };
  CHECK(co_await message_of(sv.managed(body)) == "");
  other.request_stop();
  co_await other.join();
  CHECK(all.starts_with(j.of_a));
  CHECK(all.starts_with(j.of_b));
  const bool done = finished && !sv.stopped();
  if (done) CHECK((j.of_a == all && j.of_b == all));
  co_return done;
}

TEST_CASE("supervisor: learns each element of two stopped and resumed inputs once") {
  in_worlds_with_lines(scaled_count(100), [&](leat::sim::world& w) -> task<> {
    std::string all;
    auto reference = shuffled_lines();
    co_await reference.for_each([&](std::string line) { all += line + ';'; });
    int runs = 1;
    while (!co_await run_once(w, all)) ++runs;
    CHECK(runs < 60);
  });
}

}  // namespace step_groups_test
