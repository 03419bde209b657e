#pragma once

// Spans as lines of JSON in the format of OTLP, which an OpenTelemetry collector reads with its
// receiver `otlpjsonfile`.

#include <chrono>
#include <exception>
#include <string>
#include <string_view>

enum class span_kind { internal = 1, server = 2, client = 3 };

struct trace_span {
  std::string trace_id, span_id, parent_id, name;
  span_kind kind;
  std::chrono::system_clock::time_point start = std::chrono::system_clock::now();
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

inline std::string nanoseconds(std::chrono::system_clock::time_point t) {
  const std::chrono::nanoseconds since = t.time_since_epoch();
  return '"' + std::to_string(since.count()) + '"';
}

// `service`: the name of the service, as JSON. The span ends now.
inline std::string line_of(const trace_span& s, const std::exception_ptr& error,
                           const std::string& service) {
  std::string line =
      R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":)"
      R"({"stringValue":)" +
      service + R"(}}]},"scopeSpans":[{"scope":{"name":"leat"},"spans":[{"traceId":")" +
      s.trace_id + R"(","spanId":")" + s.span_id + '"';
  if (!s.parent_id.empty()) line += R"(,"parentSpanId":")" + s.parent_id + '"';
  line += R"(,"name":)" + json_text(s.name) + R"(,"kind":)" +
          std::to_string(static_cast<int>(s.kind)) + R"(,"startTimeUnixNano":)" +
          nanoseconds(s.start) + R"(,"endTimeUnixNano":)" +
          nanoseconds(std::chrono::system_clock::now());
  if (error) line += R"(,"status":{"code":2,"message":)" + json_text(message_of(error)) + '}';
  return line + "}]}]}]}\n";
}
