// A service that can be observed: logs with the ID of the trace and the name of the task, spans of
// requests and tasks, metrics for Prometheus, dumps, and a watchdog for tasks that block the loop.
//
// Each argument after the file of the spans is a request: an item and the header `traceparent`.
// Logs and warnings go to standard error; the metrics also go to standard output at the end.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <leat/async.hpp>
#include <leat/queue/fifo_queue.hpp>
#include <spdlog/sinks/stdout_sinks.h>

#include "admin.hpp"
#include "log_context.hpp"
#include "spans.hpp"

using namespace std::chrono_literals;

//! [call]
// Stands for a request to another service, with its header `traceparent`.
leat::task<int> send_request(std::string traceparent) {
  spdlog::info("sends traceparent {}", traceparent);
  co_await leat::sleep_for(1ms);
  co_return 42;
}

leat::task<int> call_prices(span_exporter& exporter) {
  co_return co_await send_request(exporter.traceparent());
}

leat::task<> load_price(span_exporter& exporter, leat::fifo_queue<int>& results) {
  const int price = co_await in_span(exporter, "GET /price", exporter.traceparent(),
                                     call_prices(exporter), span_kind::client);
  co_await results.push(price);
}
//! [/call]

leat::task<> load_stock(leat::fifo_queue<int>& results) {
  spdlog::info("loads the stock");
  co_await leat::sleep_for(1ms);
  co_await results.push(7);
}

// The mistake that the watchdog finds: it computes without giving way.
leat::task<> render() {
  co_await leat::this_task::yield();
  const auto end = std::chrono::steady_clock::now() + 60ms;
  while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
  co_await leat::this_task::yield();
}

leat::task<int> answer(span_exporter& exporter, std::string item) {
  if (item != "book") throw std::runtime_error("no such item");
  leat::fifo_queue<int> results(2, "results");
  co_await leat::with_task_group([&](leat::task_group& parts) -> leat::task<> {
    parts.spawn(load_stock(results), "load stock");
    parts.spawn(load_price(exporter, results), "load price");
    co_return;
  });
  co_await leat::with_task_group([](leat::task_group& page) -> leat::task<> {
    page.spawn(render(), "render");
    co_return;
  });
  spdlog::info("answers");
  co_return 200;
}

struct request {
  std::string item, traceparent;
};

leat::task<> serve(span_exporter& exporter, leat::fifo_queue<request>& requests) {
  while (auto r = co_await requests.pop()) {
    try {
      co_await in_span(exporter, "GET /item", std::move(r->traceparent),
                       log_errors(answer(exporter, std::move(r->item))));
    } catch (const std::exception&) {
      if (leat::this_task::stop_requested()) throw;  // otherwise the response is 500
    }
  }
}

//! [run]
std::string metrics(const span_exporter& exporter) {
  return "# HELP spans_dropped_total Spans that are lost.\n# TYPE spans_dropped_total counter\n"
         "spans_dropped_total " +
         std::to_string(exporter.dropped()) + '\n' + leat::metrics();
}

leat::task<> run(span_exporter& exporter, leat::scheduler& admin_thread,
                 leat::fifo_queue<request>& requests) {
  admin_acceptor acceptor(leat::get_executor(admin_thread),
                          {asio::ip::address_v4::loopback(), 0});  // any free port
  spdlog::info("serves metrics and dumps on port {}", acceptor.local_endpoint().port());
  co_await leat::with_task_group([&](leat::task_group& group) -> leat::task<> {
    group.spawn_on(admin_thread,
                   serve_admin(std::move(acceptor), [&] { return metrics(exporter); }), "admin");
    co_await serve(exporter, requests);
    std::cout << metrics(exporter);
    group.request_stop();
  });
}
//! [/run]

//! [main]
void warn(const leat::long_turn& turn) {
  std::string text = to_text(turn);
  text.pop_back();  // spdlog ends the line
  // A record of several lines would have a time stamp only in the first one.
  std::replace(text.begin(), text.end(), '\n', ';');
  spdlog::warn("{}", text);
}

int main(int argc, char** argv) {
  // First, because SIGUSR1 ends a process that has no such object.
  const leat::dump_on_request on_signal({.signal = SIGUSR1});
  if (argc < 2) {
    std::cerr << "usage: service SPANS [ITEM=TRACEPARENT]...\n";
    return 2;
  }
  spdlog::set_default_logger(spdlog::stderr_logger_mt("service"));
  set_log_pattern();
  const auto exporter = std::make_shared<span_exporter>(argv[1], "shop");
  const leat::task_hooks_scope spans(exporter);
  const leat::warn_on_long_turns watchdog(20ms, {.on_report = warn});
  leat::runtime admin({.threads = 1});

  leat::fifo_queue<request> requests(leat::unbounded, "requests");
  for (const std::string& text : std::vector<std::string>(argv + 2, argv + argc)) {
    const std::size_t end = text.find('=');
    static_cast<void>(requests.try_push({text.substr(0, end), text.substr(end + 1)}));
  }
  requests.close();
  const int status = leat::run(run(*exporter, admin.get_scheduler(), requests));
  if (const auto lost = exporter->close(); lost > 0) spdlog::error("{} spans are lost", lost);
  return status;
}
//! [/main]
