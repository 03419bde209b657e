// A service that can be observed: logs with the ID of the trace and the name of the task, spans of
// requests and tasks, metrics for Prometheus, and a watchdog for tasks that block the loop.
//
// Each argument after the file of the spans is the header `traceparent` of one request. Logs and
// warnings go to standard error; the metrics go to standard output at the end.

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <leat/async.hpp>
#include <leat/queue/fifo_queue.hpp>
#include <spdlog/sinks/stdout_sinks.h>

#include "log_context.hpp"
#include "spans.hpp"

using namespace std::chrono_literals;

leat::task<> load(std::string what, leat::fifo_queue<std::string>& results) {
  spdlog::info("loads {}", what);
  co_await leat::sleep_for(1ms);
  co_await results.push(std::move(what));
}

// The mistake that the watchdog finds: it computes without giving way.
leat::task<> render() {
  co_await leat::this_task::yield();
  const auto end = std::chrono::steady_clock::now() + 60ms;
  while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
  co_await leat::this_task::yield();
}

leat::task<> answer() {
  leat::fifo_queue<std::string> results(2, "results");
  co_await leat::with_task_group([&](leat::task_group& parts) -> leat::task<> {
    parts.spawn(load("stock", results), "load stock");
    parts.spawn(load("price", results), "load price");
    co_return;
  });
  co_await leat::with_task_group([](leat::task_group& page) -> leat::task<> {
    page.spawn(render(), "render");
    co_return;
  });
  spdlog::info("answers with traceparent {}", format_traceparent(*current_trace.get()));
}

leat::task<> serve(std::shared_ptr<span_exporter> exporter, std::vector<std::string> headers) {
  leat::fifo_queue<std::string> requests(leat::unbounded, "requests");
  for (std::string& header : headers) co_await requests.push(std::move(header));
  requests.close();
  while (auto header = co_await requests.pop()) {
    co_await in_span(*exporter, "GET /item", std::move(*header), answer());
  }
  std::cout << leat::metrics();
  if (exporter->dropped() > 0) spdlog::error("{} spans are lost", exporter->dropped());
}

//! [main]
void warn(const leat::long_turn& turn) {
  std::string text = to_text(turn);
  text.pop_back();  // spdlog ends the line
  spdlog::warn("{}", text);
}

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: service SPANS [TRACEPARENT]...\n";
    return 2;
  }
  spdlog::set_default_logger(spdlog::stderr_logger_mt("service"));
  set_log_pattern();
  const auto exporter = std::make_shared<span_exporter>(argv[1], "shop");
  const leat::task_hooks_scope spans(exporter);
  const leat::warn_on_long_turns watchdog(20ms, {.on_report = warn});
  return leat::run(serve(exporter, {argv + 2, argv + argc}));
}
//! [/main]
