#pragma once

#include <exception>

#include "leat/sim/world/world.hpp"
#include "leat/train/checkpoint/checkpoint_registry.hpp"
#include "leat/train/checkpoint/saver.hpp"
#include "support/leat_test.hpp"
#include "train/in_world.hpp"

// A program whose values savers save, in a simulated world.

namespace leat_test {

using names = std::vector<std::string>;

/// The values of a program.
struct model {
  std::int64_t step = 0;
  std::vector<float> weights = {1, 2, 3};
  std::string note = "begin";
  float bias[2] = {0, 0};

  void set(std::int64_t n) {
    step = n;
    weights.assign(static_cast<std::size_t>(n % 7 + 1), static_cast<float>(n));
    note = "step " + std::to_string(n);
    bias[0] = static_cast<float>(-n);
  }
  [[nodiscard]] bool is(std::int64_t n) const {
    model other;
    other.set(n);
    return step == n && weights == other.weights && note == other.note && bias[0] == other.bias[0];
  }
};

/// A model, its registry, and the reports of its saver.
struct program {
  program() : what("model") {
    what.add("step", m.step);
    what.add("weights", m.weights);
    what.add("note", m.note);
    what.add("bias", m.bias);
  }

  leat::saver_options options() {
    leat::saver_options o;
    o.on_skipped = [this](const std::string& path, const std::exception_ptr&) {
      refused.push_back(path);
    };
    o.on_warning = [this](const std::string& sentence) { warnings.push_back(sentence); };
    return o;
  }

  model m;
  leat::checkpoint_registry what;
  names refused;
  names warnings;
};

/// Returns options for a saver that keeps two checkpoints.
inline leat::saver_options two_of(program& p) {
  leat::saver_options o = p.options();
  o.max_to_keep = 2;
  return o;
}

inline leat::task<std::string> save(leat::saver& s, program& p, std::int64_t step) {
  p.m.set(step);
  co_return co_await s.save(static_cast<std::uint64_t>(step));
}

// A parameter pack, because g++ 12 misinterprets a braced list in a co_await expression.
template <class... Steps>
leat::task<void> save_all(leat::saver& s, program& p, Steps... steps) {
  const std::int64_t all[] = {steps...};
  for (const std::int64_t step : all) co_await save(s, p, step);
}

/// The steps of a program that saves to a directory, from the beginning.
template <class... Steps>
leat::task<void> save_of(std::string directory, Steps... steps) {
  program p;
  leat::saver s = co_await leat::saver::open(std::move(directory), p.what, p.options());
  co_await save_all(s, p, steps...);
}

/// Saves a checkpoint of another program, and returns its path.
inline leat::task<std::string> save_of_another(std::string directory, std::int64_t step) {
  leat::checkpoint_registry what("another");
  int x = 7;
  what.add("x", x);
  leat::saver s = co_await leat::saver::open(std::move(directory), what);
  co_return co_await s.save(static_cast<std::uint64_t>(step));
}

/// Returns options for a saver of one of the ranks "/0" and "/1" of one job.
inline leat::saver_options in_step(program& p) {
  leat::saver_options o = p.options();
  o.rank_directories = {"/0", "/1"};
  return o;
}

inline names checkpoints_in(leat::sim::world& w) {
  names found;
  for (const std::string& path : w.files().files()) {
    if (contains(path, "model.ckpt")) found.push_back(path);
  }
  return found;
}

}  // namespace leat_test
