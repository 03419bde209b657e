#include "train/supervisor/stop_request.hpp"

#include "support/leat_test.hpp"

namespace stop_request_test {

using leat::sleep_for;
using leat::detail::run_phase;

// The parts of a supervisor that is running, with a step_grace of 5 s.
struct program {
  program() {
    request.begin_run();
    for (const run_phase p : {run_phase::starting, run_phase::running}) phase.enter(p);
  }

  task<> step(leat::duration time) {
    co_await request.wait_before_step();
    steps.begin_marked();
    bool finished = false;
    try {
      co_await sleep_for(time);
      finished = true;
    } catch (const leat::failure&) {
    }
    steps.end_marked(finished);
    if (!finished) throw leat::failure(errc::cancelled, "step");
  }
  task<> body(leat::duration time, int& done) {
    for (;;) {
      co_await step(time);
      ++done;
    }
  }

  task<> run(task<> body) { result = co_await leat_test::outcome_of(request.run(std::move(body))); }

  leat_test::outcome result;
  std::string name = "job";
  std::vector<std::string> warnings;
  leat::coordinator coord;
  leat::detail::phase_machine<run_phase> phase;
  leat::detail::step_gate steps{[this] { request.steps_have_ended(); }};
  leat::detail::stop_request request{
      coord, steps, phase, {.name = name, .step_grace = 5s, .warn = [this](const std::string& s) {
                              warnings.push_back(s);
                            }}};
};

LEAT_TEST("stop_request: the coordinator is stopped after the step, and the body cancelled",
          "[train]") {
  program p;
  int done = 0;
  leat::task_group group;
  group.spawn(p.run(p.body(3s, done)));
  co_await sleep_for(4s);
  p.request.request_after_step(true);
  co_await sleep_for(1s);
  CHECK_FALSE(p.coord.should_stop());
  co_await group.join();
  CHECK(p.result.text.empty());
  CHECK(p.coord.should_stop());
  CHECK(done == 2);
  CHECK(p.request.has_stopped_run());
  CHECK((p.warnings.empty() && !p.request.step_is_late()));
}

LEAT_TEST("stop_request: a step that takes longer than its grace period is cancelled", "[train]") {
  program p;
  int done = 0;
  leat::task_group group;
  group.spawn(p.run(p.body(1h, done)));
  co_await sleep_for(1s);
  const auto begin = leat::scheduler::current()->now();
  p.request.request_after_step(true);
  co_await p.request.wait_for_last_step();
  CHECK(leat::scheduler::current()->now() - begin == 5s);
  CHECK(p.request.step_is_late());
  co_await group.join();
  CHECK(p.result.text.empty());
  CHECK(done == 0);
  CHECK(p.warnings.size() == 1);
  CHECK(p.steps.has_incomplete_step());
}

LEAT_TEST("stop_request: an error cancels the step immediately", "[train]") {
  program p;
  int done = 0;
  leat::task_group group;
  group.spawn(p.run(p.body(1h, done)));
  co_await sleep_for(1s);
  const auto begin = leat::scheduler::current()->now();
  p.coord.request_stop(std::make_exception_ptr(leat::failure(errc::unavailable, "disk")));
  co_await group.join();
  CHECK(leat::scheduler::current()->now() == begin);
  CHECK_FALSE(p.request.has_stopped_run());
  co_await leat_test::outcome_of(p.coord.join());
}

LEAT_TEST("stop_request: a body that requests the stop was not stopped from outside", "[train]") {
  program p;
  const auto body = [](program& here) -> task<> {
    here.request.request_after_step(true);
    co_return;
  };
  co_await p.request.run(body(p));
  CHECK(p.coord.should_stop());
  CHECK_FALSE(p.request.has_stopped_run());
}

LEAT_TEST("stop_request: a request before the run ends the start, and no body begins", "[train]") {
  program p;
  p.phase.enter(run_phase::stopping);
  p.phase.enter(run_phase::finishing);
  p.phase.enter(run_phase::idle);
  p.request.end_run();
  p.request.request_after_step(false);
  p.request.begin_run();
  CHECK(p.request.is_wanted());
  CHECK_FALSE(p.coord.should_stop());
  int done = 0;
  co_await p.request.run(p.body(1s, done));
  CHECK(done == 0);
  CHECK(p.request.has_stopped_run());
  p.request.end_run();
  CHECK_FALSE(p.request.is_wanted());
}

LEAT_TEST("stop_request: steps may begin again in at_end", "[train]") {
  program p;
  p.request.request_after_step(true);
  CHECK((co_await leat_test::outcome_of(p.step(1s))).code == errc::cancelled);
  p.phase.enter(run_phase::stopping);
  CHECK(p.request.holds_steps());
  p.phase.enter(run_phase::finishing);
  CHECK_FALSE(p.request.holds_steps());
  co_await p.step(1s);
}

}  // namespace stop_request_test
