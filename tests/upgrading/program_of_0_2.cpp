// A program as it was written for leat 0.2: queues with tasks and threads, a pipeline, and a
// supervisor that saves it. docs/upgrading.md says that it still compiles, with warnings.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <leat/leat.hpp>

namespace {

using namespace std::chrono_literals;

int failures = 0;

void check(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  ++failures;
}

leat::task<> produce(leat::fifo_queue<int>& queue) {
  for (int i = 1; i <= 10; ++i) co_await queue.push(i);
  queue.close();
}

leat::task<int> consume(leat::fifo_queue<int>& queue) {
  int sum = 0;
  for (;;) {
    auto [error, item] = co_await leat::as_tuple(queue.pop());
    if (error || !item) co_return sum;
    sum += *item;
  }
}

// Tasks on a runtime, and threads that block on their queues.
void run_queues() {
  leat::runtime runtime;
  leat::fifo_queue<int> numbers(3, "numbers"), results(1, "results");
  leat::task_group group("workers");
  group.spawn_on(runtime.get_scheduler(), produce(numbers));
  const auto sum_up = [&]() -> leat::task<> { co_await results.push(co_await consume(numbers)); };
  group.spawn_on(runtime.get_scheduler(), sum_up());
  check(results.wait_pop() == 55, "the sum of a queue");
  group.wait_join();

  leat::coordinator coordinator({.name = "threads"});
  coordinator.start_thread("writer", [&] { results.wait_push(1); });
  check(results.wait_pop(10s) == 1, "the item of a thread");
  coordinator.request_stop();
  check(coordinator.block_for_stop(10s), "a stop");
  coordinator.wait_join();
}

// Starts from scratch, or resumes from a checkpoint. Returns the number of lines so far.
leat::task<std::int64_t> train(std::string input, std::string logdir, std::int64_t most) {
  auto batches = leat::read_files<leat::line_reader>({.files = {input}, .num_epochs = 1})
                     .shuffle({.capacity = 100, .seed = 1})
                     .batch({.batch_size = 10})
                     .prefetch(2);
  std::int64_t lines = 0;
  leat::checkpoint_registry state("lines");
  state.add("lines", lines);
  state.add("input", batches);
  leat::supervisor supervisor({.logdir = logdir, .state = &state, .stages = batches.stages()});
  const auto body = [&]() -> leat::task<> {
    co_await batches.for_each([&](leat::owned_line_batch batch) -> leat::task<> {
      lines += static_cast<std::int64_t>(batch.size());
      if (lines >= most) supervisor.request_stop();
      co_return;
    });
  };
  co_await supervisor.managed(body);
  co_return lines;
}

void run_training(const std::filesystem::path& folder) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string input = folder / "input.txt", logdir = folder / "log";
  std::ofstream file(input);
  for (int i = 0; i < 1'000; ++i) file << "line " << i << '\n';
  file.close();
  check(leat::sync_wait(train(input, logdir, 300)) == 300, "the lines before a stop");
  check(leat::sync_wait(train(input, logdir, 10'000)) == 1'000, "the lines after it");
  std::filesystem::remove_all(folder);
}

}  // namespace

int main(int argc, char** argv) {
  run_queues();
  run_training(argc > 1 ? argv[1] : "program_of_0_2.run");
  return failures > 0 ? 1 : 0;
}
