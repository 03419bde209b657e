#pragma once

// Spans of requests, of the tasks that serve them, and of calls to other services.

#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <leat/async.hpp>

#include "otlp.hpp"
#include "span_file.hpp"
#include "trace_context.hpp"

// Each task that has a name and is spawned below a request is a span of its own. A span that cannot
// be recorded or written is dropped, because the service must not fail for it.
class span_exporter : public leat::task_hooks {
 public:
  span_exporter(const std::string& path, std::string_view service)
      : file_(path), service_(json_text(service)) {}

  // Returns the header `traceparent` with the span in progress of the running task, or an empty
  // text outside of requests.
  [[nodiscard]] std::string traceparent() const {
    const trace_context* const trace = current_trace.get();
    if (!trace) return {};
    trace_context c = *trace;
    const std::lock_guard lock(mutex_);
    if (const auto* task = leat::scheduler::current_task()) c.span_id = span_of(task->id(), *trace);
    return format_traceparent(c);
  }

  // Writes a span that ends now.
  void write(const trace_span& s, const std::exception_ptr& error) noexcept try {
    file_.write(line_of(s, error, service_));
  } catch (const std::exception&) {
    ++unrecorded_;
  }

  // Writes the last spans. Returns the number of spans that are lost.
  std::uint64_t close() {
    file_.close();
    return dropped();
  }
  [[nodiscard]] std::uint64_t dropped() const { return unrecorded_ + file_.dropped(); }

 private:
  //! [hooks]
  void on_start(const leat::task_context& task) noexcept override try {
    const trace_context* const trace = current_trace.get(task);
    if (!trace || !trace->is_sampled) return;
    const bool has_span = !name_of(task).empty();
    std::string id = has_span ? random_hex(16) : "";
    const std::lock_guard lock(mutex_);
    std::string parent = span_of(task.scope().maker(), *trace);
    if (!has_span) id = parent;
    tasks_.insert_or_assign(key_of(task.id()),
                            live_task{trace->span_id,
                                      {trace->trace_id, std::move(id), std::move(parent),
                                       std::string(name_of(task)), span_kind::internal}});
  } catch (const std::exception&) {
    ++unrecorded_;
  }

  void on_end(const leat::task_context& task, const std::exception_ptr& error) noexcept override {
    std::unique_lock lock(mutex_);
    const auto ended = tasks_.extract(key_of(task.id()));
    lock.unlock();
    if (!ended.empty() && !ended.mapped().span.name.empty()) write(ended.mapped().span, error);
  }
  //! [/hooks]

  struct live_task {
    std::string inherited;  // the span in progress when the task was spawned
    trace_span span;        // without a name, it only has the ID of its parent
  };
  using key = std::pair<std::uint64_t, std::uint64_t>;
  static key key_of(const leat::task_id& id) { return {id.scope, id.index}; }

  // The span in progress of a task: its own, unless the task has opened `trace.span_id` in it.
  [[nodiscard]] std::string span_of(const leat::task_id& id, const trace_context& trace) const {
    const auto task = tasks_.find(key_of(id));
    const bool is_own = task != tasks_.end() && task->second.inherited == trace.span_id;
    return is_own ? task->second.span.span_id : trace.span_id;
  }

  span_file file_;
  const std::string service_;  // as JSON
  std::atomic<std::uint64_t> unrecorded_ = 0;
  mutable std::mutex mutex_;
  std::map<key, live_task> tasks_;
};

//! [request]
// Runs `body` in a span that continues the trace of `traceparent`. If the header is missing or
// invalid, it begins a trace.
template <class T>
leat::task<T> in_span(span_exporter& exporter, std::string name, std::string traceparent,
                      leat::task<T> body, span_kind kind = span_kind::server) {
  struct open_span {
    span_exporter& to;
    const trace_span span;
    const bool is_sampled;
    std::exception_ptr error = nullptr;
    ~open_span() {
      if (is_sampled) to.write(span, error);
    }
  };
  const auto remote = parse_traceparent(traceparent);
  trace_context trace = remote.value_or(trace_context{random_hex(32), "", true});
  const std::string id = random_hex(16);
  open_span own{
      exporter, {trace.trace_id, id, trace.span_id, std::move(name), kind}, trace.is_sampled};
  trace.span_id = id;
  try {
    co_return co_await current_trace.with(std::move(trace), std::move(body));
  } catch (...) {
    own.error = std::current_exception();
    throw;
  }
}
//! [/request]
