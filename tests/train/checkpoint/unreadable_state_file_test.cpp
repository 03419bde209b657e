// A state file that is empty or cannot be parsed never stops a supervisor that has checkpoints.

#include "leat/train/checkpoint/checkpoint_directory.hpp"
#include "leat/train/supervisor/supervisor.hpp"
#include "train/supervised.hpp"

namespace unreadable_state_file_test {

using namespace leat_test;
using leat::supervisor;

// Learns some steps, with a checkpoint of each.
task<> learn(learner& l, leat::supervisor_options o, int steps) {
  supervisor sv(std::move(o));
  co_await sv.managed([&]() -> task<> {
    for (; steps > 0; --steps) {
      l.learn();
      co_await sv.save();
    }
  });
}
task<> learn(learner& l, int steps) { return learn(l, l.options(), steps); }

std::size_t count_of(const words& all, std::string_view part) {
  return static_cast<std::size_t>(
      std::ranges::count_if(all, [&](const std::string& w) { return contains(w, part); }));
}

TEST_CASE("supervisor: reports an unreadable state file and restores the newest checkpoint",
          "[train]") {
  const std::string text =
      GENERATE(as<std::string>(), "", "\n", "no state\n", std::string(40, '\0'),
               "all_model_checkpoint_paths: 'model.ckpt-1'\n", "model_checkpoint_path: ''\n",
               "model_checkpoint_path: 'mod");
  CAPTURE(text);
  in_world([text](leat::sim::world& w) -> task<> {
    learner first;
    co_await learn(first, 3);
    w.files().write_file("/run/checkpoint", text);

    learner second;
    co_await learn(second, 0);
    CHECK(second.step == 3);
    CHECK(count_of(second.warnings, "/run/checkpoint: state file cannot be read") == 1);
    CHECK(count_of(second.warnings, "the newest is model.ckpt-3") == 1);
    CHECK(count_of(second.warnings, "state file skipped: ") == 1);
    // That run has written the state file again, although it made no step.
    const auto state = co_await leat::get_checkpoint_state("/run");
    REQUIRE(state);
    CHECK(state->model_checkpoint_path == "/run/model.ckpt-3");
    learner third;
    co_await learn(third, 1);
    CHECK(third.step == 4);
    CHECK(third.warnings.empty());
  });
}

TEST_CASE("supervisor: with an empty state file, skips a corrupt checkpoint", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner first;
    co_await learn(first, 3);
    w.files().write_file("/run/checkpoint", "");
    std::string bytes = w.files().read_file("/run/model.ckpt-3").value();
    w.files().write_file("/run/model.ckpt-3", bytes.substr(0, bytes.size() - 1));
    learner second;
    co_await learn(second, 0);
    CHECK(second.step == 2);
    CHECK(count_of(second.warnings, "checkpoint skipped: /run/model.ckpt-3") == 1);
  });
}

TEST_CASE("supervisor: with an empty state file a checkpoint without a step is restored",
          "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    const auto run = [](double& weight) -> task<> {
      leat::checkpoint_registry state("no steps");
      state.add("weight", weight);
      leat::supervisor_options o;
      o.logdir = "/run";
      o.state = &state;
      o.on_warning = nullptr;
      supervisor sv(std::move(o));
      co_await sv.managed([&]() -> task<> {
        weight += 1;
        co_return;
      });
    };
    double weight = 1;
    co_await run(weight);
    CHECK(has_file(w, "/run/model.ckpt"));
    w.files().write_file("/run/checkpoint", "");
    double again = 0;
    co_await run(again);
    CHECK(again == 3);
  });
}

TEST_CASE("supervisor: an empty state file without checkpoints: removing it costs no progress",
          "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    w.files().write_file("/run/checkpoint", "");
    learner l;
    const std::string why = co_await message_of(learn(l, 1));
    CHECK(contains(why, "'/run' contains no checkpoint: copy one there, or remove the state file"));
    CHECK(l.step == 0);
  });
}

TEST_CASE("supervisor: strict: an empty state file is an error that names no way to lose progress",
          "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner first;
    co_await learn(first, 2);
    w.files().write_file("/run/checkpoint", "");
    learner second;
    leat::supervisor_options o = second.options();
    o.saver.strict = true;
    const std::string why = co_await message_of(learn(second, std::move(o), 0));
    CHECK(contains(why, "model_checkpoint_path: \"NAME\""));
    CHECK_FALSE(contains(why, "remove"));
  });
}

TEST_CASE("supervisor: a worker does not read a state file of its own working directory",
          "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner chief;
    co_await learn(chief, 1);
    w.files().write_file("checkpoint", "");
    learner worker;
    leat::supervisor_options o = worker.options();
    o.is_chief = false;
    co_await learn(worker, std::move(o), 0);
    CHECK(worker.step == 1);
  });
}

TEST_CASE("supervisor: checkpoints that are skipped for the same reason give one warning",
          "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    learner first;
    co_await learn(first, 7);
    learner second;
    leat::supervisor_options o = second.options();
    leat::checkpoint_registry other("learner");
    other.add("global_step", second.step);
    o.state = &other;  // does not register the weight
    const std::string why = co_await message_of(learn(second, std::move(o), 0));
    CHECK(contains(why, "/run/model.ckpt-7: checkpoint has an entry 'weight'"));
    REQUIRE(second.warnings.size() == 1);
    CHECK(contains(second.warnings[0], "supervisor: 5 checkpoints skipped (/run/model.ckpt-7, "));
    CHECK(contains(second.warnings[0], "/run/model.ckpt-3): /run/model.ckpt-7: checkpoint has"));
  });
}

}  // namespace unreadable_state_file_test
