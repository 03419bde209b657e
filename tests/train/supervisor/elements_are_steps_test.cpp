// pipeline::for_each() under a supervisor: each element that a coroutine processes is a step.

#include "leat/train/checkpoint/saver.hpp"
#include "leat/train/supervisor/supervisor.hpp"
#include "support/effort.hpp"
#include "train/line_job.hpp"

namespace elements_are_steps_test {

using namespace leat_test;
using leat::failure;
using leat::supervisor;

// Repeats runs until everything is learnt. Each run is stopped in the middle of an element.
task<int> learn_all(leat::sim::world& w, stop_function stop) {
  for (int runs = 1;; ++runs) {
    line_job j;
    j.wait = std::chrono::milliseconds(100 + w.random().uniform_below(3000));
    supervisor sv(j.options());
    leat::task_group other("other");
    other.spawn(stop_later(sv, std::chrono::milliseconds(w.random().uniform_below(9000)), stop));
    CHECK(co_await message_of(sv.managed([&] { return j.body(); })) == "");
    CHECK_FALSE(j.in_step);
    CHECK(j.warnings.empty());
    CHECK(j.learnt == all_learnt().substr(0, 4 * static_cast<std::size_t>(j.step)));
    const bool stopped = sv.stopped();
    other.request_stop();
    co_await other.join();
    if (!stopped) {
      CHECK(j.learnt == all_learnt());
      co_return runs;
    }
  }
}

TEST_CASE("supervisor: an element that is processed is finished before a stop takes effect") {
  for (const stop_function stop : {&stop_after_step, &stop_now}) {
    in_worlds_with_lines(scaled_count(20), [&](leat::sim::world& w) -> task<> {
      CHECK(co_await learn_all(w, stop) > 1);
    });
  }
}

TEST_CASE("supervisor: a stop of its owner waits for the element and saves the state") {
  in_world_with_lines([](leat::sim::world& w) -> task<> {
    line_job j;
    supervisor sv(j.options());
    leat::task_group owner("owner");
    owner.spawn(sv.managed([&] { return j.body(); }));
    co_await leat::sleep_for(2500ms);
    owner.request_stop();
    co_await owner.join();
    CHECK(sv.stopped());
    CHECK(j.step == 3);
    CHECK_FALSE(j.in_step);
    CHECK(has_file(w, "/run/model.ckpt-3"));
    CHECK(j.warnings.empty());
  });
}

TEST_CASE("supervisor: stop() in another task waits for the element and saves the state") {
  in_world_with_lines([](leat::sim::world& w) -> task<> {
    line_job j;
    supervisor sv(j.options());
    leat::task_group other("other");
    other.spawn(stop_and_wait_later(sv, 2500ms));
    CHECK(co_await message_of(sv.managed([&] { return j.body(); })) == "");
    co_await other.join();
    CHECK(sv.stopped());
    CHECK(j.step == 3);
    CHECK_FALSE(j.in_step);
    CHECK(has_file(w, "/run/model.ckpt-3"));
  });
}

TEST_CASE("supervisor: an element that outlasts step_grace is cancelled and not saved") {
  in_world_with_lines([](leat::sim::world& w) -> task<> {
    line_job j;
    j.wait = 1h;
    leat::supervisor_options o = j.options();
    o.step_grace = 1500ms;
    o.save_model_interval = leat::duration::zero();
    supervisor sv(std::move(o));
    leat::task_group other("other");
    other.spawn(stop_later(sv, 5s, &stop_now));
    const auto begin = w.now();
    CHECK(co_await message_of(sv.managed([&] { return j.body(); })) == "");
    CHECK(w.now() - begin < 8s);
    co_await other.join();
    REQUIRE(j.warnings.size() == 2);
    CHECK(contains(j.warnings[0], "did not finish within 1.5 s"));
    CHECK(contains(j.warnings[1], "no final checkpoint is saved"));
    CHECK_FALSE(has_file(w, "/run/model.ckpt-0"));
  });
}

TEST_CASE("supervisor: a second stop request does not remove the time limit of an element") {
  for (const stop_function second : {&stop_now, &stop_after_step}) {
    in_world_with_lines([second](leat::sim::world& w) -> task<> {
      line_job j;
      j.wait = 1h;
      supervisor sv(j.options());
      leat::task_group other("other");
      other.spawn(stop_later(sv, 5s, second == &stop_now ? &stop_after_step : &stop_now));
      other.spawn(stop_later(sv, 6s, second));
      const auto begin = w.now();
      CHECK(co_await message_of(sv.managed([&] { return j.body(); })) == "");
      CHECK(w.now() - begin < 20s);
      co_await other.join();
      CHECK(contains(j.warnings.at(0), "did not finish within 10 s"));
    });
  }
}

TEST_CASE("supervisor: the error of a service cancels an element") {
  in_world_with_lines([](leat::sim::world& w) -> task<> {
    line_job j;
    j.wait = 5s;
    supervisor sv(j.options());
    const auto body = [&]() -> task<> {
      sv.coord().spawn([]() -> task<> {
        co_await leat::sleep_for(1s);
        throw failure(leat::errc::unavailable, "the service fails");
      });
      co_await j.body();
    };
    const auto begin = w.now();
    CHECK(co_await message_of(sv.managed(body)) == "the service fails: unavailable");
    CHECK(w.now() - begin < 2s);
    CHECK(j.in_step);
  });
}

TEST_CASE("supervisor: saves between two elements and while it awaits input") {
  in_worlds_with_lines(scaled_count(20), [&](leat::sim::world& w) -> task<> {
    const bool copies = w.random().uniform_below(2) == 0;
    int saves = 0;
    line_job j;
    j.wait = std::chrono::milliseconds(1 + w.random().uniform_below(3000));
    leat::supervisor_options o = j.options();
    o.save_model_interval = std::chrono::milliseconds(500 + w.random().uniform_below(3000));
    o.saver.copy_values = copies;
    o.on_saved = [&](std::string path, std::optional<std::int64_t> step) -> task<> {
      ++saves;
      line_job saved;
      co_await restore_from(path, saved.state);
      CHECK(saved.step == step);
      co_await check_continues(saved);
    };
    supervisor sv(std::move(o));
    CHECK(co_await message_of(sv.managed([&] { return j.body(); })) == "");
    CHECK(j.learnt == all_learnt());
    CHECK(saves > 1);
  });
}

TEST_CASE("supervisor: an element may save while another save waits for its end") {
  in_world_with_lines([](leat::sim::world& w) -> task<> {
    line_job j;
    leat::supervisor_options o = j.options();
    o.save_model_interval = 1ms;  // requests saves continuously
    supervisor sv(std::move(o));
    const auto body = [&]() -> task<> {
      co_await j.batches.for_each([&](std::string line) -> task<> {
        co_await j.learn(std::move(line));
        if (j.step == 5) co_await sv.save();
        if (j.step == 8) co_await sv.save_between_steps();
        if (j.step == 11) sv.request_stop();
      });
    };
    CHECK(co_await message_of(sv.managed(body)) == "");
    CHECK_FALSE(sv.stopped());  // the body itself has ended the run
    CHECK(j.warnings.empty());
    CHECK(has_file(w, "/run/model.ckpt-11"));
  });
}

TEST_CASE("supervisor: does not save an element that throws any exception") {
  in_world_with_lines([](leat::sim::world& w) -> task<> {
    line_job j;
    supervisor sv(j.options());
    const auto body = [&]() -> task<> {
      co_await j.batches.for_each([&](std::string line) -> task<> {
        co_await j.learn(std::move(line));
        if (j.step == 3) throw failure(leat::errc::out_of_range, "labels have ended");
      });
    };
    CHECK(co_await message_of(sv.managed(body)) == "");
    CHECK_FALSE(sv.stopped());
    CHECK_FALSE(has_file(w, "/run/model.ckpt-3"));
    REQUIRE(j.warnings.size() == 1);
    CHECK(contains(j.warnings[0], "no final checkpoint is saved"));
  });
}

TEST_CASE("supervisor: save() in another task waits for the element or is rejected") {
  in_world_with_lines([](leat::sim::world&) -> task<> {
    line_job j;
    leat::supervisor_options o = j.options();
    o.save_model_interval = leat::duration::zero();
    int saves = 0;
    o.on_saved = [&](std::string path, std::optional<std::int64_t>) -> task<> {
      line_job saved;
      co_await restore_from(path, saved.state);
      CHECK(saved.learnt.size() == 4 * static_cast<std::size_t>(saved.step));
      ++saves;
    };
    supervisor sv(std::move(o));
    const auto body = [&]() -> task<> {
      co_await leat::with_task_group([&](leat::task_group& group) -> task<> {
        group.spawn([&]() -> task<> {
          co_await leat::sleep_for(2500ms);
          CHECK(contains(co_await message_of(sv.save()), "save() called during a step"));
          CHECK(j.step == 2);
          co_await sv.save_between_steps();
          CHECK(j.step >= 3);
        });
        co_await j.body();
      });
    };
    CHECK(co_await message_of(sv.managed(body)) == "");
    CHECK(saves == 2);
  });
}

TEST_CASE("supervisor: stop() within an element saves nothing and warns") {
  in_world_with_lines([](leat::sim::world& w) -> task<> {
    line_job j;
    supervisor sv(j.options());
    const auto body = [&]() -> task<> {
      co_await j.batches.for_each([&](std::string line) -> task<> {
        co_await j.learn(std::move(line));
        if (j.step == 3) co_await sv.stop();
      });
    };
    CHECK(co_await message_of(sv.managed(body)) == "");
    CHECK_FALSE(has_file(w, "/run/model.ckpt-3"));
    REQUIRE_FALSE(j.warnings.empty());
    CHECK(contains(j.warnings[0], "call request_stop() in a step"));
  });
}

TEST_CASE("supervisor: a pipeline that is read within an element belongs to this element") {
  for (const stop_function stop : {&stop_after_step, &stop_now}) {
    in_world_with_lines([stop](leat::sim::world& w) -> task<> {
      two_jobs both;
      leat::supervisor_options o = both.a.options();
      o.save_model_interval = 2s;
      supervisor sv(std::move(o));
      leat::task_group other("other");
      other.spawn(stop_later(sv, 3500ms, stop));
      both.b.wait = 10ms;
      const auto body = [&]() -> task<> {
        co_await both.a.batches.for_each([&](std::string line) -> task<> {
          co_await both.a.learn(std::move(line));
          if (both.a.step == 4) {
            co_await leat::with_task_group([&](leat::task_group& group) -> task<> {
              group.spawn(both.b.body());
              co_return;
            });
          }
        });
      };
      const auto begin = w.now();
      CHECK(co_await message_of(sv.managed(body)) == "");
      CHECK(w.now() - begin < 8s);
      co_await other.join();
      CHECK(sv.stopped());
      CHECK(both.b.step == lines_in_all);
      CHECK(both.a.step == 4);
      CHECK(both.a.warnings.empty());
      CHECK(has_file(w, "/run/model.ckpt-4"));
    });
  }
}

TEST_CASE("supervisor: a body that calls step() within for_each() marks the steps itself") {
  in_world_with_lines([](leat::sim::world& w) -> task<> {
    line_job j;
    supervisor sv(j.options());
    leat::task_group other("other");
    other.spawn(stop_later(sv, 20500ms, &stop_after_step));
    const auto body = [&]() -> task<> {
      co_await j.batches.for_each([&](std::string line) -> task<> {
        const auto here = co_await sv.step();
        co_await j.learn(std::move(line));
      });
    };
    CHECK(co_await message_of(sv.managed(body)) == "");
    co_await other.join();
    CHECK(sv.stopped());
    CHECK(j.step == 21);
    CHECK_FALSE(j.in_step);
    CHECK(has_file(w, "/run/model.ckpt-21"));
    CHECK(j.warnings.empty());
  });
}

TEST_CASE("supervisor: two pipelines are stopped and saved when neither processes an element") {
  in_worlds_with_lines(scaled_count(20), [&](leat::sim::world& w) -> task<> {
    two_jobs both;
    both.a.wait = std::chrono::milliseconds(1 + w.random().uniform_below(3000));
    both.b.wait = std::chrono::milliseconds(1 + w.random().uniform_below(3000));
    leat::supervisor_options o = both.a.options();
    o.on_saved = &check_both_saved;
    supervisor sv(std::move(o));
    co_await stop_at_any_time(sv, both, w);
  });
}

}  // namespace elements_are_steps_test
