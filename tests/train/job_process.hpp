#pragma once

// A process of a job that learns lines: its input, its learnt text, and its saved state.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leat/base/clock.hpp"
#include "leat/base/random.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "leat/sim/world/world.hpp"
#include "leat/train/checkpoint/checkpoint_registry.hpp"

namespace leat_test {

/// Bugs that can be planted in a job, to check that the invariants detect them.
enum class planted : std::uint8_t {
  nothing,
  no_sync,      ///< checkpoints are not synced to the device
  no_input,     ///< the position of the input is not saved
  half_steps,   ///< the state is saved in the middle of a step
  other_place,  ///< each start uses a new directory, and starts from the beginning
};

/// How a job is declared: the same at each start.
struct job_shape {
  explicit job_shape(leat::random_engine& random)
      : epochs(1 + random.uniform_below(2)),
        seed(random()),
        interleave(static_cast<std::size_t>(1 + random.uniform_below(3))),
        block(static_cast<std::size_t>(1 + random.uniform_below(3))),
        capacity(static_cast<std::size_t>(1 + random.uniform_below(10))),
        batch(static_cast<std::size_t>(1 + random.uniform_below(3))),
        keep(static_cast<std::size_t>(1 + random.uniform_below(3))),
        interval(
            std::chrono::milliseconds(random.uniform_below(2) * (1 + random.uniform_below(100)))),
        has_steps(random.uniform_below(4) > 0),
        in_steps(random.uniform_below(2) == 0),
        events(random.uniform_below(2) == 0),
        worker(random.uniform_below(4) == 0) {}

  std::uint64_t epochs;
  std::uint64_t seed;
  std::size_t interleave;
  std::size_t block;
  std::size_t capacity;
  std::size_t batch;
  std::size_t keep;         // checkpoints
  leat::duration interval;  // between periodic checkpoints; 0: none
  bool has_steps;           // otherwise each checkpoint replaces the previous one
  bool in_steps;            // it waits in the middle of a step
  bool events;
  bool worker;  // another process restores the checkpoints of the chief
};

/// Returns the input, with random numbers of workers, readers, chunks and prefetched blocks. An
/// element is some lines, each followed by ','.
inline auto elements_of(const job_shape& s, leat::sim::world& w) {
  leat::random_engine random(w.random()());
  std::vector<leat::scheduler*> threads;
  for (std::size_t i = 0; i < w.threads(); ++i) threads.push_back(&w.thread(i));
  const auto workers = [&] { return static_cast<std::size_t>(random.uniform_below(3)); };
  const auto chunk_size = static_cast<std::size_t>(64 + random.uniform_below(400));
  return leat::read_files<leat::line_reader>({.files = {"/in/*"},
                                              .num_epochs = s.epochs,
                                              .shuffle = true,
                                              .seed = s.seed,
                                              .interleave = s.interleave,
                                              .block_length = s.block,
                                              .readers = random.uniform_below(2) * s.interleave,
                                              .reader = {.read = {.chunk_size = chunk_size}}},
                                             {.workers = threads})
      .map("text", [](std::string_view line) { return std::string(line); }, {.workers = workers()})
      .shuffle({.capacity = s.capacity, .seed = s.seed + 1})
      .prefetch(static_cast<std::size_t>(1 + random.uniform_below(2)))
      .batch({.batch_size = s.batch})
      .map("join",
           [](const std::vector<std::string>& batch) {
             std::string all;
             for (const std::string& text : batch) all += text + ',';
             return all;
           },
           {.workers = workers()});
}
using job_input =
    decltype(elements_of(std::declval<const job_shape&>(), std::declval<leat::sim::world&>()));

/// The state of a process of the job.
struct job_process {
  job_process(const job_shape& s, leat::sim::world& w, planted wrong)
      : input(elements_of(s, w)), state("interrupted job") {
    state.add(s.has_steps ? "global_step" : "elements", step);
    state.add("learnt", learnt);
    state.add("weights", weights);
    if (wrong != planted::no_input) state.add("input", input);
  }

  void learn_rest(std::string_view rest) {
    learnt.append(rest);
    ++step;
    learn_weights(weights, std::string_view(learnt).substr(learnt.rfind('\n') + 1), step);
    learnt += '\n';
  }

  /// The weights occupy several sectors, and each element changes all of these.
  static void learn_weights(std::vector<std::uint64_t>& weights, std::string_view element,
                            std::int64_t step) {
    weights.resize(150);
    std::uint64_t hash = static_cast<std::uint64_t>(step);
    for (const char c : element) hash = hash * 1099511628211U ^ static_cast<unsigned char>(c);
    for (std::size_t i = 0; i < weights.size(); i += 10) {
      weights[i + static_cast<std::size_t>(step) % 10] += hash;
    }
  }

  job_input input;
  std::int64_t step = 0;
  std::string learnt;  // elements, one per line
  std::vector<std::uint64_t> weights;
  leat::checkpoint_registry state;
  bool has_begun = false;
  int refused = 0;  // checkpoints that the device could not read
};

}  // namespace leat_test
