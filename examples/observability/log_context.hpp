#pragma once

// The trace and the task of a line in a log of spdlog.

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <leat/async.hpp>
#include <spdlog/pattern_formatter.h>
#include <spdlog/spdlog.h>

#include "trace_context.hpp"

//! [flag]
// The flag %* of a pattern: "trace=4bf92f3577b34da6a3ce929d0e0e4736 task=stock", or "-" outside of
// both. For loggers that format on the thread that logs, so not for asynchronous ones.
class task_flag : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg&, const std::tm&, spdlog::memory_buf_t& out) override {
    const auto add = [&out](std::string_view text) { out.append(text.begin(), text.end()); };
    const trace_context* const trace = current_trace.get();
    const leat::task_context* const task = leat::scheduler::current_task();
    add(trace ? "trace=" + trace->trace_id : "-");
    if (task && !name_of(*task).empty()) add(" task=" + std::string(name_of(*task)));
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<task_flag>();
  }
};

inline void set_log_pattern() {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<task_flag>('*').set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l [%*] %v");
  spdlog::set_formatter(std::move(formatter));
}
//! [/flag]

//! [errors]
// Awaits `body`, and logs the exception with which it ends while the trace is still set.
template <class T>
leat::task<T> log_errors(leat::task<T> body) {
  try {
    co_return co_await std::move(body);
  } catch (const std::exception& e) {
    spdlog::error("{}", e.what());
    throw;
  }
}
//! [/errors]
