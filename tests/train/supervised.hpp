#pragma once

#include <algorithm>
#include <functional>

#include "leat/sim/world/world.hpp"
#include "leat/train/supervisor/supervisor.hpp"
#include "support/leat_test.hpp"
#include "support/records/event_files.hpp"
#include "train/in_world.hpp"

// A program under a supervisor, in a simulated world.

namespace leat_test {

using words = std::vector<std::string>;

/// The state of a program, and the warnings of its supervisor.
struct learner {
  learner() : state("learner") {
    state.add("global_step", step);
    state.add("weight", weight);
  }

  leat::supervisor_options options(std::string logdir = "/run") {
    leat::supervisor_options o;
    o.logdir = std::move(logdir);
    o.state = &state;
    o.on_warning = [this](const std::string& sentence) { warnings.push_back(sentence); };
    return o;
  }
  void learn() {
    ++step;
    weight += 0.5;
  }

  std::int64_t step = 0;
  double weight = 1;
  leat::checkpoint_registry state;
  words warnings;
};

/// Runs a supervisor whose body learns without a wait until the step is `last`.
inline leat::task<> learn_up_to(learner& l, leat::supervisor_options o, std::int64_t last) {
  leat::supervisor sv(std::move(o));
  co_await sv.managed([&]() -> leat::task<> {
    while (l.step < last) l.learn();
    co_return;
  });
}

/// Returns the events in a directory as text.
inline words events_in_words(leat::sim::world& w, const std::string& directory = "/run") {
  words all;
  for (const std::string& path : w.files().files()) {
    if (!path.starts_with(directory) || path.find("tfevents") == std::string::npos) continue;
    const words some = words_of(events_in(w.files().read_file(path).value()));
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

inline bool has_file(leat::sim::world& w, std::string_view path) {
  const auto all = w.files().files();
  return std::ranges::find(all, path) != all.end();
}

}  // namespace leat_test
