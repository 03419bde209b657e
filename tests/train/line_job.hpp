#pragma once

#include "leat/io/reader/line_reader.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "leat/train/checkpoint/saver.hpp"
#include "leat/train/supervisor/supervisor.hpp"
#include "train/supervised.hpp"

// A supervised job whose steps are the elements that pipeline::for_each() passes to a coroutine.

namespace leat_test {

constexpr int lines_in_all = 40;

inline auto numbered_lines() {
  return leat::read_files<leat::line_reader>({.files = {"/in/*"}})
      .map("text", [](std::string_view line) { return std::string(line); })
      .prefetch(3);
}

inline void write_input(leat::sim::world& w) {
  std::string text;
  for (int i = 0; i < lines_in_all; ++i) text += std::to_string(100 + i) + '\n';
  w.files().write_file("/in/a", text);
}

/// Runs a program in a world with this input, and checks that it has closed its files.
inline void in_world_with_lines(const leat::sim::world::body& body) {
  in_world([&](leat::sim::world& w) {
    write_input(w);
    return body(w);
  });
}

/// Runs a program in worlds with this input and the seeds from 1 to `seeds`, and does not check for
/// open files.
inline void in_worlds_with_lines(std::uint64_t seeds, const leat::sim::world::body& body) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    INFO("seed " << seed);
    leat::sim::world w(seed);
    write_input(w);
    w.run(body);
  }
}

inline std::string all_learnt() {
  std::string text;
  for (int i = 0; i < lines_in_all; ++i) text += std::to_string(100 + i) + ';';
  return text;
}

// Learns half of an element before a wait, and half after it.
struct line_job {
  line_job() : batches(numbered_lines()), state("job") {
    state.add("global_step", step);
    state.add("learnt", learnt);
    state.add("input", batches);
  }

  leat::supervisor_options options() {
    leat::supervisor_options o;
    o.logdir = "/run";
    o.state = &state;
    o.write_events = false;
    o.save_model_interval = std::chrono::seconds(7);
    o.on_warning = [this](const std::string& sentence) { warnings.push_back(sentence); };
    return o;
  }

  leat::task<> learn(std::string line) {
    learnt += line.substr(0, 1);
    in_step = true;
    co_await leat::sleep_for(wait);
    in_step = false;
    learnt += line.substr(1) + ';';
    ++step;
  }

  leat::task<> body() {
    co_await batches.for_each([this](std::string line) { return learn(std::move(line)); });
  }

  decltype(numbered_lines()) batches;
  std::int64_t step = 0;
  std::string learnt;
  leat::duration wait = std::chrono::seconds(1);
  bool in_step = false;
  std::vector<std::string> warnings;
  leat::checkpoint_registry state;
};

/// Restores a checkpoint of jobs that are registered in `state`.
inline leat::task<> restore_from(std::string path, const leat::checkpoint_registry& state) {
  leat::saver s = co_await leat::saver::open("/run", state, {.recover_last_checkpoints = false});
  co_await s.restore(std::move(path));
}

/// Checks that the input of a restored job continues after the learnt text.
inline leat::task<> check_continues(line_job& saved) {
  CHECK(saved.learnt == all_learnt().substr(0, 4 * static_cast<std::size_t>(saved.step)));
  const std::optional<std::string> next = co_await saved.batches.next();
  CHECK(next.has_value() == (saved.step < lines_in_all));
  if (next) CHECK(*next == std::to_string(100 + saved.step));
  co_await saved.batches.stop();
}

struct two_jobs {
  two_jobs() {
    a.state.add("other learnt", b.learnt);
    a.state.add("other input", b.batches);
  }

  leat::task<> body() {
    co_await leat::with_task_group([&](leat::task_group& group) -> leat::task<> {
      group.spawn(a.body());
      group.spawn(b.body());
      co_return;
    });
  }

  line_job a;
  line_job b;
};

/// Checks that a checkpoint of two jobs contains only whole elements.
inline leat::task<> check_both_saved(std::string path, std::optional<std::int64_t>) {
  two_jobs saved;
  co_await restore_from(std::move(path), saved.a.state);
  for (const line_job* j : {&saved.a, &saved.b}) {
    CHECK(all_learnt().starts_with(j->learnt));
    CHECK(j->learnt.size() % 4 == 0);
  }
}

using stop_function = void (*)(leat::supervisor& sv);
inline void stop_after_step(leat::supervisor& sv) { sv.request_stop_after_step(); }
inline void stop_now(leat::supervisor& sv) { sv.request_stop(); }

inline leat::task<> stop_later(leat::supervisor& sv, leat::duration wait, stop_function stop) {
  co_await leat::sleep_for(wait);
  stop(sv);
}

/// Runs two jobs and stops them within 30 s, in either way. No element may be interrupted.
inline leat::task<> stop_at_any_time(leat::supervisor& sv, two_jobs& both, leat::sim::world& w) {
  leat::task_group other("other");
  const auto wait = std::chrono::milliseconds(w.random().uniform_below(30000));
  other.spawn(stop_later(sv, wait, w.random().uniform_below(2) ? &stop_now : &stop_after_step));
  CHECK(co_await message_of(sv.managed([&] { return both.body(); })) == "");
  other.request_stop();
  co_await other.join();
  CHECK_FALSE(both.a.in_step);
  CHECK_FALSE(both.b.in_step);
  CHECK(both.a.warnings.empty());
}

/// Stops the supervisor and waits for its end.
inline leat::task<> stop_and_wait_later(leat::supervisor& sv, leat::duration wait) {
  co_await leat::sleep_for(wait);
  co_await sv.stop();
}

}  // namespace leat_test
