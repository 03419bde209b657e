// The result of supervisor::stopped(), and stop() during managed().

#include "leat/train/supervisor/supervisor.hpp"
#include "support/effort.hpp"
#include "train/line_job.hpp"

namespace stopped_or_finished_test {

using namespace leat_test;
using leat::failure;
using leat::supervisor;

// Runs the loop in a separate group of the body. After a stop, the body continues as if the loop
// had ended.
task<> learn_in_group(line_job& j) {
  co_await leat::with_task_group([&](leat::task_group& group) -> task<> {
    group.spawn(j.body());
    co_return;
  });
}

TEST_CASE("supervisor: a body that returns after a stop counts as stopped") {
  in_world_with_lines([](leat::sim::world&) -> task<> {
    {
      line_job j;
      supervisor sv(j.options());
      leat::task_group other("other");
      other.spawn(stop_later(sv, 2500ms, &stop_now));
      CHECK(co_await message_of(sv.managed([&] { return learn_in_group(j); })) == "");
      co_await other.join();
      CHECK(sv.stopped());
      CHECK(j.step == 3);
    }
    line_job j;
    supervisor sv(j.options());
    leat::task_group owner("owner");
    std::string thrown;
    owner.spawn([&]() -> task<> {
      thrown = co_await message_of(sv.managed([&] { return learn_in_group(j); }));
    });
    co_await leat::sleep_for(2500ms);
    owner.request_stop();
    co_await owner.join();
    CHECK(contains(thrown, "cancelled"));
    CHECK(sv.stopped());
    CHECK(j.step == 6);
  });
}

TEST_CASE("supervisor: a run that failed or ended by itself does not count as stopped") {
  in_world_with_lines([](leat::sim::world&) -> task<> {
    const auto run = [](leat::errc code, bool in_service) -> task<bool> {
      line_job j;
      j.wait = 1ms;
      leat::supervisor_options o = j.options();
      o.logdir.clear();
      o.on_warning = nullptr;
      supervisor sv(std::move(o));
      const auto fail = [code]() -> task<> { throw failure(code, "it ends"); };
      const auto body = [&]() -> task<> {
        if (in_service) sv.coord().spawn(fail);
        co_await j.body();
        if (!in_service) co_await fail();
      };
      co_await message_of(sv.managed(body));
      co_return sv.stopped();
    };
    CHECK_FALSE(co_await run(leat::errc::out_of_range, false));
    CHECK_FALSE(co_await run(leat::errc::unavailable, false));
    CHECK_FALSE(co_await run(leat::errc::unavailable, true));
  });
}

TEST_CASE("supervisor: stop() during the start of managed() waits for the start") {
  in_worlds_with_lines(scaled_count(60), [&](leat::sim::world& w) -> task<> {
    line_job j;
    leat::supervisor_options o = j.options();
    o.write_events = true;
    supervisor sv(std::move(o));
    leat::task_group other("other");
    const auto wait = std::chrono::microseconds(w.random().uniform_below(3000));
    other.spawn(stop_and_wait_later(sv, wait));
    CHECK(co_await message_of(sv.managed([&] { return j.body(); })) == "");
    co_await other.join();
    CHECK_FALSE(j.in_step);
    CHECK(sv.stopped());
  });
}

}  // namespace stopped_or_finished_test
