// A supervised program that writes files for other readers.
//
//     supervised_events LOGDIR LINES
//
// It makes a step for each line of the file LINES, and at most four steps in a run. It reports a
// queue and the stages of a pipeline.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "leat/async.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/train/checkpoint/checkpoint_registry.hpp"
#include "leat/train/supervisor/supervisor.hpp"

namespace {

constexpr int steps_of_a_run = 4;

leat::task<> run(std::string logdir, std::string lines) {
  auto input = leat::read_files<leat::line_reader>({.files = {lines}})
                   .map("text", [](std::string_view line) { return std::string(line); });
  leat::fifo_queue<std::string> learnt(16, "learnt");
  std::int64_t step = 0;
  leat::checkpoint_registry state("lines");
  state.add("global_step", step);
  state.add("input", input);
  leat::supervisor_options o;
  o.logdir = logdir;
  o.state = &state;
  o.queues = {&learnt};
  o.stages = input.stages();
  o.save_summaries_interval = std::chrono::milliseconds(20);
  leat::supervisor sv(std::move(o));
  const auto body = [&]() -> leat::task<> {
    for (int i = 0; i < steps_of_a_run; ++i) {
      auto line = co_await input.next();
      if (!line) break;
      ++step;
      auto push = learnt.push(std::move(*line));
      co_await std::move(push);
    }
    const leat::event_writer& events = *sv.summary_writer();
    const std::uint64_t enough = events.events_added() + 6;  // events of both services in this step
    while (events.events_added() < enough) co_await leat::sleep_for(std::chrono::milliseconds(5));
    co_await input.stop();
  };
  co_await sv.managed(body);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    leat::block_on(run(argv[1], argv[2]));
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "supervised_events: %s\n", e.what());
    return 1;
  }
}
