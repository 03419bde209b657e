// Steps that wait for something, and the saves and stops that wait for them.

#include "leat/queue/fifo_queue.hpp"
#include "leat/train/checkpoint/saver.hpp"
#include "leat/train/supervisor/supervisor.hpp"
#include "support/effort.hpp"
#include "train/line_job.hpp"

namespace step_waits_test {

using namespace leat_test;
using leat::failure;
using leat::supervisor;

// Sleeps for `wait`, even if the task is asked to stop.
task<> sleep_shielded(leat::duration wait) {
  leat::task_group group(leat::shielded, "shielded");
  group.spawn([wait]() -> task<> { co_await leat::sleep_for(wait); });
  co_await group.join();
}

// Restores the newest checkpoint: the input must continue after the learnt text.
task<> check_checkpoint() {
  line_job saved;
  leat::saver s =
      co_await leat::saver::open("/run", saved.state, {.recover_last_checkpoints = false});
  const std::optional<std::string> restored = co_await s.restore_latest();
  REQUIRE(restored);
  co_await check_continues(saved);
}

// The same within a run, whose end may cancel it.
task<> check_saved(std::string, std::optional<std::int64_t>) {
  const std::string thrown = co_await message_of(check_checkpoint());
  CHECK((thrown.empty() || contains(thrown, "ancel")));
}

TEST_CASE("supervisor: step() within an element belongs to this element") {
  for (const stop_function stop : {&stop_after_step, &stop_now}) {
    in_worlds_with_lines(scaled_count(20), [&](leat::sim::world& w) -> task<> {
      line_job j;
      j.wait = std::chrono::milliseconds(100 + w.random().uniform_below(3000));
      leat::supervisor_options o = j.options();
      o.save_model_interval = std::chrono::milliseconds(500 + w.random().uniform_below(3000));
      o.on_saved = &check_saved;
      supervisor sv(std::move(o));
      leat::task_group other("other");
      other.spawn(stop_later(sv, std::chrono::milliseconds(w.random().uniform_below(9000)), stop));
      const auto body = [&]() -> task<> {
        co_await j.batches.for_each([&](std::string line) -> task<> {
          const auto here = co_await sv.step();
          const auto again = co_await sv.step();
          co_await j.learn(std::move(line));
        });
      };
      CHECK(co_await message_of(sv.managed(body)) == "");
      other.request_stop();
      co_await other.join();
      CHECK(j.warnings.empty());
      CHECK_FALSE(j.in_step);
      co_await check_checkpoint();
    });
  }
}

// Each element of `a` waits for three of `b`.
task<> learn_from_each_other(two_jobs& both) {
  leat::fifo_queue<std::string> between(1, "between");
  co_await leat::with_task_group([&](leat::task_group& group) -> task<> {
    group.spawn([&]() -> task<> {
      co_await both.b.batches.for_each([&](std::string line) -> task<> {
        const std::string copy = line;
        co_await both.b.learn(std::move(line));
        co_await between.push(copy);
      });
      between.close();
    });
    group.spawn([&]() -> task<> {
      co_await both.a.batches.for_each([&](std::string line) -> task<> {
        for (int i = 0; i < 3; ++i) static_cast<void>(co_await between.pop());
        co_await both.a.learn(std::move(line));
      });
    });
    co_return;
  });
}

TEST_CASE("supervisor: a save does not hang if an element waits for another for_each()") {
  in_worlds_with_lines(scaled_count(20), [&](leat::sim::world& w) -> task<> {
    two_jobs both;
    both.a.wait = both.b.wait = 1s;
    leat::supervisor_options o = both.a.options();
    o.save_model_interval = 20s;
    o.step_grace = std::chrono::milliseconds(w.random().uniform_below(5000));
    int saves = 0;
    o.on_saved = [&](std::string path, std::optional<std::int64_t> step) -> task<> {
      ++saves;
      co_await check_both_saved(std::move(path), step);
    };
    supervisor sv(std::move(o));
    const auto begin = w.now();
    CHECK(co_await message_of(sv.managed([&] { return learn_from_each_other(both); })) == "");
    CHECK(w.now() - begin < 5min);  // one minute without saves
    CHECK(both.a.step == lines_in_all);
    CHECK(both.b.step == lines_in_all);
    CHECK(saves > 1);
    REQUIRE(both.a.warnings.size() <= 1);
    if (!both.a.warnings.empty()) CHECK(contains(both.a.warnings[0], "save waited"));
  });
}

TEST_CASE("supervisor: stop() within a step() of a task in a group of the body returns") {
  in_world_with_lines([](leat::sim::world& w) -> task<> {
    line_job j;
    supervisor sv(j.options());
    const auto body = [&]() -> task<> {
      co_await leat::with_task_group([&](leat::task_group& group) -> task<> {
        group.spawn([&]() -> task<> {
          const auto here = co_await sv.step();
          co_await leat::sleep_for(1s);
          co_await sv.stop();
        });
        co_return;
      });
    };
    const auto begin = w.now();
    CHECK(co_await message_of(sv.managed(body)) == "");
    CHECK(w.now() - begin < 15s);
    CHECK_FALSE(j.warnings.empty());
  });
}

TEST_CASE("supervisor: a stop of its owner ends a body that awaits stop()") {
  in_world_with_lines([](leat::sim::world& w) -> task<> {
    line_job j;
    supervisor sv(j.options());
    const auto body = [&]() -> task<> {
      sv.coord().spawn(sleep_shielded(5s));
      co_await leat::sleep_for(1s);
      co_await sv.stop();
      co_await leat::sleep_for(1h);
    };
    leat::task_group owner("owner");
    const auto begin = w.now();
    owner.spawn(sv.managed(body));
    co_await leat::sleep_for(3s);
    owner.request_stop();
    co_await owner.join();
    CHECK(w.now() - begin < 10s);
  });
}

TEST_CASE("supervisor: a warning that throws does not remove the time limit of the last step") {
  in_world_with_lines([](leat::sim::world& w) -> task<> {
    line_job j;
    j.wait = 10h;
    leat::supervisor_options o = j.options();
    o.on_warning = [](const std::string&) { throw std::runtime_error("the log is full"); };
    supervisor sv(std::move(o));
    leat::task_group other("other");
    other.spawn(stop_later(sv, 3s, &stop_now));
    const auto begin = w.now();
    CHECK(co_await message_of(sv.managed([&] { return j.body(); })) != "");
    CHECK(w.now() - begin < 20s);
    co_await other.join();
  });
}

TEST_CASE("supervisor: calls on_saved between two saves, not while values are written") {
  in_worlds_with_lines(scaled_count(20), [&](leat::sim::world& w) -> task<> {
    line_job j;
    leat::supervisor_options o = j.options();
    o.save_model_interval = std::chrono::microseconds(100 + w.random().uniform_below(3000));
    o.saver.copy_values = false;
    o.on_saved = &check_saved;
    supervisor sv(std::move(o));
    const auto body = [&]() -> task<> {
      co_await j.batches.for_each([&](std::string line) {
        j.learnt += std::move(line) + ';';
        ++j.step;
      });
    };
    CHECK(co_await message_of(sv.managed(body)) == "");
    CHECK(j.learnt == all_learnt());
    CHECK(j.warnings.empty());
  });
}

TEST_CASE("supervisor: a body that ends after stop() of another task counts as stopped") {
  in_world_with_lines([](leat::sim::world&) -> task<> {
    line_job j;
    leat::supervisor_options o = j.options();
    o.save_at_end = false;
    supervisor sv(std::move(o));
    leat::task_group other("other");
    other.spawn(stop_and_wait_later(sv, 5500ms));
    const auto body = [&]() -> task<> {
      std::string why = co_await message_of(j.body());
      co_await sleep_shielded(1s);
      CHECK(contains(why, "cancelled"));
    };
    CHECK(co_await message_of(sv.managed(body)) == "");
    co_await other.join();
    CHECK(sv.stopped());
    CHECK(j.step == 6);
    CHECK(j.warnings.empty());  // nothing was to be saved
    // The stop does not affect the next run.
    line_job k;
    supervisor next(k.options());
    CHECK(co_await message_of(next.managed([&] { return k.body(); })) == "");
    CHECK_FALSE(next.stopped());
  });
}

TEST_CASE("supervisor: a service that ends the run is not an outside stop") {
  in_world_with_lines([](leat::sim::world&) -> task<> {
    enum class how { out_of_range, request, coordinator_request };
    for (const how way : {how::out_of_range, how::request, how::coordinator_request}) {
      for (const bool looper : {false, true}) {
        line_job j;
        leat::supervisor_options o = j.options();
        o.logdir.clear();
        o.on_warning = nullptr;
        supervisor sv(std::move(o));
        const auto end = [&sv, way, &j]() -> task<> {
          if (j.step < 3) co_await leat::sleep_for(4500ms);
          if (way == how::out_of_range) throw failure(leat::errc::out_of_range, "it ends");
          if (way == how::request) sv.request_stop();
          if (way == how::coordinator_request) static_cast<void>(sv.coord().request_stop());
        };
        const auto body = [&]() -> task<> {
          if (looper) {
            sv.loop(1s, end, "end");
          } else {
            sv.coord().spawn(end);
          }
          co_await j.body();
        };
        CHECK(co_await message_of(sv.managed(body)) == "");
        INFO(static_cast<int>(way) << ' ' << looper);
        CHECK_FALSE(sv.stopped());
        CHECK(j.step < lines_in_all);
      }
    }
  });
}

TEST_CASE("supervisor: no element of another pipeline begins while a stop waits for an element") {
  in_worlds_with_lines(scaled_count(40), [&](leat::sim::world& w) -> task<> {
    two_jobs both;
    both.a.wait = 9500ms;  // almost step_grace
    both.b.wait = std::chrono::milliseconds(1 + w.random().uniform_below(9900));
    supervisor sv(both.a.options());
    co_await stop_at_any_time(sv, both, w);
  });
}

TEST_CASE("supervisor: a stop of the owner ends a step() that waits in a shielded group") {
  in_world_with_lines([](leat::sim::world& w) -> task<> {
    line_job j;
    supervisor sv(j.options());
    const auto body = [&]() -> task<> {
      leat::task_group group(leat::shielded, "shielded");
      const auto steps = [&]() -> task<> {
        for (;;) {
          const auto here = co_await sv.step();
          co_await leat::sleep_for(700ms);
        }
      };
      group.spawn(steps);
      group.spawn(steps);
      co_await group.join();
    };
    leat::task_group owner("owner");
    owner.spawn(sv.managed(body));
    co_await leat::sleep_for(3s);
    owner.request_stop();
    const auto begin = w.now();
    co_await owner.join();
    CHECK(w.now() - begin < 10s);
  });
}

}  // namespace step_waits_test
