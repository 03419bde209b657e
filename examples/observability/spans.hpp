#pragma once

// Spans of requests and tasks, as lines of JSON in OTLP's format. An OpenTelemetry collector reads
// such a file with its receiver `otlpjsonfile`.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
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

// The size of the character at the beginning of a text in UTF-8, or 0 if it is invalid.
inline std::size_t utf8_size(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (size == 0 || first > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Too long for its character, a surrogate, or more than U+10FFFF.
  const bool is_low = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool is_high = (first == 0xed && byte(1) > 0x9f) || (first == 0xf4 && byte(1) > 0x8f);
  return is_low || is_high ? 0 : size;
}

// A collector rejects invalid UTF-8.
inline std::string json_text(std::string_view text) {
  std::string json = "\"";
  while (!text.empty()) {
    const std::size_t size = utf8_size(text);
    if (text[0] == '"' || text[0] == '\\') json += '\\';
    if (size == 0) json += "\xef\xbf\xbd";  // the replacement character
    if (size == 1) json += static_cast<unsigned char>(text[0]) < 0x20 ? ' ' : text[0];
    if (size > 1) json += text.substr(0, size);
    text.remove_prefix(size == 0 ? 1 : size);
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
// belongs to the span of that task. A span that cannot be recorded or written is dropped, because
// the service must not fail for it.
class span_exporter : public leat::task_hooks {
 public:
  span_exporter(const std::string& path, std::string_view service) : service_(json_text(service)) {
    out_.rdbuf()->pubsetbuf(nullptr, 0);  // no buffer, so that a crash loses no span
    out_.open(path);
    if (!out_) throw std::runtime_error(path + ": cannot create the file");
  }

  // Writes a span that has ended.
  void write(const trace_span& s, const std::exception_ptr& error) noexcept try {
    const std::string line = line_of(s, error);
    const std::lock_guard lock(mutex_);
    const bool is_written(out_ << (has_failed_ ? "\n" : "") << line);
    has_failed_ = !is_written;
    if (is_written) return;
    out_.clear();  // tries again with the next span
    ++dropped_;
  } catch (const std::exception&) {
    ++dropped_;
  }

  // Returns the number of spans that were not written.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  void on_start(const leat::task_context& task) noexcept override try {
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
  } catch (const std::exception&) {
    ++dropped_;
  }

  void on_end(const leat::task_context& task, const std::exception_ptr& error) noexcept override {
    std::unique_lock lock(mutex_);
    const auto ended = tasks_.extract(key_of(task.id()));
    lock.unlock();
    if (!ended.empty()) write(ended.mapped(), error);
  }
  //! [/hooks]

  static std::pair<std::uint64_t, std::uint64_t> key_of(const leat::task_id& id) {
    return {id.scope, id.index};
  }

  static std::string nanoseconds(std::chrono::system_clock::time_point t) {
    const std::chrono::nanoseconds since = t.time_since_epoch();
    return '"' + std::to_string(since.count()) + '"';
  }

  [[nodiscard]] std::string line_of(const trace_span& s, const std::exception_ptr& error) const {
    std::string line =
        R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":)"
        R"({"stringValue":)" +
        service_ + R"(}}]},"scopeSpans":[{"scope":{"name":"leat"},"spans":[{"traceId":")" +
        s.trace_id + R"(","spanId":")" + s.span_id + '"';
    if (!s.parent_id.empty()) line += R"(,"parentSpanId":")" + s.parent_id + '"';
    line += R"(,"name":)" + json_text(s.name) + R"(,"kind":)" + std::to_string(s.kind) +
            R"(,"startTimeUnixNano":)" + nanoseconds(s.start) + R"(,"endTimeUnixNano":)" +
            nanoseconds(std::chrono::system_clock::now());
    if (error) line += R"(,"status":{"code":2,"message":)" + json_text(message_of(error)) + '}';
    return line + "}]}]}]}\n";
  }

  std::mutex mutex_;
  std::ofstream out_;
  bool has_failed_ = false;    // the last line may be incomplete
  const std::string service_;  // as JSON
  std::atomic<std::uint64_t> dropped_ = 0;
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
