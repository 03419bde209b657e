#pragma once

// Spans of requests and tasks, as lines of JSON in OTLP's format. An OpenTelemetry collector reads
// such a file with its receiver `otlpjsonfile`.

#include <chrono>
#include <fstream>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <leat/async.hpp>

#include "trace_context.hpp"

struct trace_span {
  std::string trace_id, span_id, parent_id, name;
  int kind;  // 1: internal, 2: server
  std::chrono::system_clock::time_point start = std::chrono::system_clock::now();
  std::string inherited = {};  // the span of the trace_context with which a task was spawned
};

inline std::string json_text(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') json += '\\';
    json += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return json + '"';
}

inline std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "unknown exception";
  }
}

//! [hooks]
// Each task that is spawned below a request is a span of its own. A task that another one awaits
// belongs to the span of that task.
class span_exporter : public leat::task_hooks {
 public:
  explicit span_exporter(const std::string& path) : out_(path) {
    if (!out_) throw std::runtime_error(path + ": cannot create the file");
  }

  // Writes a span that has ended.
  void write(const trace_span& s, const std::exception_ptr& error) {
    const std::lock_guard lock(mutex_);
    write_line(s, error);
  }

 private:
  void on_start(const leat::task_context& task) noexcept override {
    const trace_context* const trace = current_trace.get(task);
    if (!trace || !trace->is_sampled) return;
    const std::lock_guard lock(mutex_);
    std::string parent = trace->span_id;
    const auto maker = tasks_.find(key_of(task.scope().maker()));
    // The spawning task may have opened another span in the meantime, which then is the parent.
    if (maker != tasks_.end() && maker->second.inherited == parent) parent = maker->second.span_id;
    const std::string name(task.name().empty() ? "task" : task.name());
    trace_span s{trace->trace_id, random_hex(16), parent, name, 1};
    s.inherited = trace->span_id;
    tasks_.insert_or_assign(key_of(task.id()), std::move(s));
  }

  void on_end(const leat::task_context& task, const std::exception_ptr& error) noexcept override {
    const std::lock_guard lock(mutex_);
    const auto ended = tasks_.extract(key_of(task.id()));
    if (!ended.empty()) write_line(ended.mapped(), error);
  }
  //! [/hooks]

  static std::pair<std::uint64_t, std::uint64_t> key_of(const leat::task_id& id) {
    return {id.scope, id.index};
  }

  static std::string nanoseconds(std::chrono::system_clock::time_point t) {
    const std::chrono::nanoseconds since = t.time_since_epoch();
    return '"' + std::to_string(since.count()) + '"';
  }

  // Precondition: mutex_ is locked.
  void write_line(const trace_span& s, const std::exception_ptr& error) {
    out_ << R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":)"
         << R"({"stringValue":"shop"}}]},"scopeSpans":[{"scope":{"name":"leat"},"spans":[{)"
         << R"("traceId":")" << s.trace_id << R"(","spanId":")" << s.span_id << '"';
    if (!s.parent_id.empty()) out_ << R"(,"parentSpanId":")" << s.parent_id << '"';
    out_ << R"(,"name":)" << json_text(s.name) << R"(,"kind":)" << s.kind
         << R"(,"startTimeUnixNano":)" << nanoseconds(s.start) << R"(,"endTimeUnixNano":)"
         << nanoseconds(std::chrono::system_clock::now());
    if (error) out_ << R"(,"status":{"code":2,"message":)" << json_text(message_of(error)) << '}';
    out_ << "}]}]}]}" << std::endl;  // flushed, so that a crash loses no span
  }

  std::mutex mutex_;
  std::ofstream out_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, trace_span> tasks_;  // live ones, by their IDs
};

//! [request]
// Serves a request in a span: continues the trace of its `traceparent`, or begins one if the header
// is missing or invalid.
inline leat::task<> in_span(span_exporter& exporter, std::string name, std::string traceparent,
                            leat::task<> body) {
  const auto remote = parse_traceparent(traceparent);
  trace_context trace = remote.value_or(trace_context{random_hex(32), "", true});
  const trace_span own{trace.trace_id, random_hex(16), trace.span_id, std::move(name), 2};
  trace.span_id = own.span_id;
  const bool is_sampled = trace.is_sampled;
  std::exception_ptr error;
  try {
    co_await current_trace.with(std::move(trace), std::move(body));
  } catch (...) {
    error = std::current_exception();
  }
  if (is_sampled) exporter.write(own, error);
  if (error) std::rethrow_exception(error);
}
//! [/request]
