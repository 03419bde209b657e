// Records a trace of a small service with a mistake: one task computes for a long time without
// waiting, and so delays all others. `leat trace` names it.
//
//     tracing trace.json && leat trace trace.json

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include <leat/async/loop/run.hpp>
#include <leat/async/sleep.hpp>
#include <leat/async/task.hpp>
#include <leat/async/task_group.hpp>
#include <leat/async/tracing/task_hooks.hpp>
#include <leat/async/tracing/task_local.hpp>
#include <leat/async/tracing/trace_file.hpp>
#include <leat/queue/fifo_queue.hpp>

using namespace std::chrono_literals;

namespace {

//! [hooks]
class run_counter : public leat::task_hooks {
 public:
  std::atomic<std::uint64_t> runs{0};

 private:
  void on_start(const leat::task_context&) noexcept override { ++runs; }
  void on_resume(const leat::task_context&) noexcept override { ++runs; }
};
//! [/hooks]

leat::task<> produce(leat::fifo_queue<int>& requests) {
  for (int id = 1; id <= 100; ++id) {
    co_await leat::sleep_for(1ms);
    if (!co_await requests.push(id)) break;
  }
  requests.close();
}

// The checksum of a large answer: milliseconds of work that nothing interrupts.
std::uint64_t compute_checksum(int id) {
  const auto until = std::chrono::steady_clock::now() + (id % 25 == 0 ? 30ms : 0ms);
  std::uint64_t sum = 14695981039346656037U;
  do {
    sum = (sum ^ static_cast<std::uint64_t>(id)) * 1099511628211U;
  } while (std::chrono::steady_clock::now() < until);
  return sum;
}

leat::task<> answer(int id) {
  co_await leat::sleep_for(2ms);  // asks a database
  const std::uint64_t checksum = compute_checksum(id);
  co_await leat::sleep_for(std::chrono::microseconds(checksum % 100));  // writes the answer
}

//! [local]
constinit leat::task_local<int> request_id("request");

leat::task<> serve(leat::fifo_queue<int>& requests) {
  while (auto id = co_await requests.pop()) co_await request_id.with(*id, answer(*id));
}
//! [/local]

leat::task<> heartbeat() {
  for (;;) co_await leat::sleep_for(5ms);
}

leat::task<> run_service() {
  leat::fifo_queue<int> requests(16, "requests");
  leat::task_group background;
  background.spawn(heartbeat(), "heartbeat");
  leat::task_group service;
  service.spawn(produce(requests), "producer");
  for (int i = 0; i < 4; ++i) service.spawn(serve(requests), "server " + std::to_string(i));
  co_await service.join();
  background.request_stop();
  co_await background.join();
}

//! [trace]
leat::task<> run(std::string path) {
  leat::trace_file trace(path);
  co_await run_service();
  trace.close();  // throws if the file could not be written
}
//! [/trace]

leat::task<> run_and_count(std::string path) {
  const auto counter = std::make_shared<run_counter>();
  const leat::task_hooks_scope installed(counter);
  co_await run(std::move(path));
  std::cout << counter->runs << " runs of tasks\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: tracing TRACE\n";
    return 2;
  }
  return leat::run(run_and_count(argv[1]));
}
