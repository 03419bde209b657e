#include "train/supervisor/step_gate.hpp"

#include "support/leat_test.hpp"

namespace step_gate_test {

using leat::sleep_for;
using leat::detail::step_gate;
using leat::detail::step_in_progress;

// A gate, and the number of times that its last step has ended.
struct program {
  int ends = 0;
  step_gate gate{[this] { ++ends; }};

  task<> step(leat::duration time) {
    co_await gate.wait_until_open();
    gate.begin_marked();
    co_await sleep_for(time);
    gate.end_marked(true);
  }
};

// Saves, and returns the times that the steps lost before it gave way.
task<> save(step_gate& gate, leat::duration limit, std::vector<leat::duration>& overdue) {
  co_await gate.drain(nullptr, limit, [&](leat::duration d) { overdue.push_back(d); });
  CHECK(gate.is_copying());
  CHECK(gate.is_closed());
  co_await sleep_for(10s);  // the copy
  CHECK_FALSE(gate.in_step());
  gate.release();
}

LEAT_TEST("step_gate: reports the end of the last step, and whether one was incomplete",
          "[train]") {
  program p;
  step_in_progress element;
  p.gate.begin_element(element);
  p.gate.begin_marked();
  CHECK(p.gate.own_element() == &element);
  p.gate.end_marked(true);
  CHECK((p.gate.in_step() && p.ends == 0));
  p.gate.end_element(element, true);
  CHECK((!p.gate.in_step() && p.ends == 1));
  CHECK_FALSE(p.gate.has_incomplete_step());
  p.gate.begin_element(element);
  p.gate.end_element(element, false);
  CHECK(p.gate.has_incomplete_step());
  p.gate.begin_run();
  CHECK_FALSE(p.gate.has_incomplete_step());
  co_return;
}

LEAT_TEST("step_gate: after a marked step, elements are no steps until the next run", "[train]") {
  program p;
  step_in_progress element;
  p.gate.begin_element(element);
  p.gate.mark_steps();
  CHECK((!p.gate.in_step() && p.ends == 1));
  p.gate.end_element(element, false);
  CHECK_FALSE(p.gate.has_incomplete_step());
  p.gate.begin_element(element);
  CHECK_FALSE(p.gate.in_step());
  p.gate.begin_run();
  p.gate.begin_element(element);
  CHECK(p.gate.in_step());
  p.gate.end_element(element, true);
  co_return;
}

LEAT_TEST("step_gate: a save waits for the step in progress and holds the next one", "[train]") {
  program p;
  std::vector<leat::duration> overdue;
  const auto begin = leat::scheduler::current()->now();
  leat::task_group group;
  group.spawn(p.step(3s));
  group.spawn(save(p.gate, 60s, overdue));
  co_await sleep_for(1s);
  CHECK(p.gate.is_closed());
  co_await p.step(1s);
  CHECK(leat::scheduler::current()->now() - begin == 3s + 10s + 1s);
  CHECK(overdue.empty());
  co_await group.join();
}

LEAT_TEST("step_gate: a save does not wait for an element that waits for a save", "[train]") {
  program p;
  step_in_progress own;
  step_in_progress other;
  p.gate.begin_element(own);
  p.gate.begin_element(other);
  CHECK(p.gate.blocks_save(&own));
  p.gate.begin_save_within(other);
  CHECK_FALSE(p.gate.blocks_save(&own));
  CHECK(p.gate.blocks_save(nullptr));
  p.gate.end_element(own, true);
  p.gate.end_element(other, true);
  co_return;
}

LEAT_TEST("step_gate: a save gives way to a step for which another one waits", "[train]") {
  program p;
  std::vector<leat::duration> overdue;
  leat::task_group group;
  p.gate.begin_marked();
  group.spawn(save(p.gate, 5s, overdue));
  co_await sleep_for(1s);
  const auto begin = leat::scheduler::current()->now();
  co_await p.step(1s);  // the first step waits for the second one
  CHECK(leat::scheduler::current()->now() - begin == 4s + 1s);
  CHECK(!p.gate.is_copying());
  p.gate.end_marked(true);
  co_await group.join();
  CHECK((overdue == std::vector<leat::duration>{5s}));
  CHECK_FALSE(p.gate.is_closed());
}

}  // namespace step_gate_test
