#include "train/supervisor/save_gate.hpp"

#include "support/leat_test.hpp"

namespace save_gate_test {

using leat::sleep_for;

struct program {
  leat::detail::step_gate steps{[] {}};
  std::vector<std::string> warnings;
  leat::detail::save_gate saves{steps, 1s, [this](const std::string& s) { warnings.push_back(s); }};
  int writing = 0;
  int written = 0;

  task<> write() {
    CHECK(steps.is_copying());
    CHECK(++writing == 1);
    co_await sleep_for(1s);
    --writing;
    ++written;
  }
};

LEAT_TEST("save_gate: saves are written one after another", "[train]") {
  program p;
  leat::task_group group;
  for (int i = 0; i < 3; ++i) group.spawn(p.saves.run(nullptr, p.write()));
  co_await group.join();
  CHECK(p.written == 3);
  CHECK_FALSE(p.steps.is_closed());
}

LEAT_TEST("save_gate: an error of a save opens the gate of the steps and lets the next save begin",
          "[train]") {
  program p;
  const auto fail = []() -> task<> {
    co_await sleep_for(1s);
    throw leat::failure(leat::errc::unavailable, "disk");
  };
  std::string what;
  try {
    co_await p.saves.run(nullptr, fail());
  } catch (const leat::failure& e) {
    what = e.what();
  }
  CHECK(what == "disk: unavailable");
  CHECK_FALSE(p.steps.is_closed());
  co_await p.saves.run(nullptr, p.write());
  CHECK(p.written == 1);
}

LEAT_TEST("save_gate: steps continue when the values are copied", "[train]") {
  program p;
  const auto write = [](program& here, bool& opened) -> task<> {
    here.saves.values_copied();
    co_await sleep_for(1s);
    opened = !here.steps.is_closed();
  };
  bool opened = false;
  co_await p.saves.run(nullptr, write(p, opened));
  CHECK(opened);
}

LEAT_TEST("save_gate: warns once per run about a step that takes too long", "[train]") {
  program p;
  const auto step_later = [](program& here) -> task<> {
    co_await here.steps.wait_until_open();
    here.steps.begin_marked();
    here.steps.end_marked(true);
  };
  for (int i = 0; i < 2; ++i) {
    p.steps.begin_marked();
    leat::task_group group;
    group.spawn(p.saves.run(nullptr, p.write()));
    co_await sleep_for(0s);
    group.spawn(step_later(p));
    co_await sleep_for(5s);
    p.steps.end_marked(true);
    co_await group.join();
  }
  CHECK(p.written == 2);
  CHECK(p.warnings.size() == 1);
}

LEAT_TEST("save_gate: values may be saved from allow() until forbid()", "[train]") {
  program p;
  p.saves.forbid();
  CHECK_FALSE(p.saves.has_values());
  p.saves.allow();
  CHECK((p.saves.has_values() && p.saves.is_allowed()));
  p.saves.record(7, true);
  CHECK((p.saves.newest_step() == 7 && p.saves.is_partial()));
  p.saves.forbid();
  CHECK((p.saves.has_values() && !p.saves.is_allowed()));
  p.saves.begin_run();
  CHECK_FALSE(p.saves.has_values());
  CHECK((!p.saves.newest_step() && !p.saves.is_partial()));
  co_return;
}

}  // namespace save_gate_test
