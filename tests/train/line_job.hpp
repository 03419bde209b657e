#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leat/io/reader/line_reader.hpp"
#include "leat/pipeline/pipeline.hpp"
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

struct two_jobs {
  two_jobs() {
    a.state.add("other learnt", b.learnt);
    a.state.add("other input", b.batches);
  }
  line_job a;
  line_job b;
};

using stop_function = void (*)(leat::supervisor& sv);
inline void stop_after_step(leat::supervisor& sv) { sv.request_stop_after_step(); }
inline void stop_now(leat::supervisor& sv) { sv.request_stop(); }

inline leat::task<> stop_later(leat::supervisor& sv, leat::duration wait, stop_function stop) {
  co_await leat::sleep_for(wait);
  stop(sv);
}

}  // namespace leat_test
