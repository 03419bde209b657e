#pragma once

// The trace of a request, as the header `traceparent` of W3C Trace Context carries it, in a
// task-local: the tasks that serve the request, and what they call, can read it.

#include <sys/random.h>

#include <cerrno>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>

#include <leat/async.hpp>

//! [context]
struct trace_context {
  std::string trace_id;  // 32 hexadecimal digits
  std::string span_id;   // 16 of them: the span in progress
  bool is_sampled = true;

  // For dumps and traces.
  friend std::ostream& operator<<(std::ostream& out, const trace_context& c) {
    return out << c.trace_id;
  }
};

inline constinit leat::task_local<trace_context> current_trace("trace");
//! [/context]

// At most 32 digits. The kernel's generator makes them unique among all processes.
inline std::string random_hex(std::size_t digits) {
  unsigned char bytes[16];
  std::string text(digits, '0');
  do {  // an ID of zeros is invalid
    if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
      throw std::system_error(errno, std::system_category(), "getrandom");
    for (std::size_t i = 0; i < digits; ++i)
      text[i] = "0123456789abcdef"[bytes[i / 2] >> (i % 2 * 4) & 15];
  } while (text.find_first_not_of('0') == text.npos);
  return text;
}

inline bool is_lower_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == text.npos;
}

//! [parse]
// "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01". Later versions may append parts.
inline std::optional<trace_context> parse_traceparent(std::string_view text) {
  constexpr std::size_t size = 55;
  if (text.size() < size || text[2] != '-' || text[35] != '-' || text[52] != '-') return {};
  const auto version = text.substr(0, 2);
  const auto trace = text.substr(3, 32);
  const auto span = text.substr(36, 16);
  const auto flags = text.substr(53, 2);
  for (const std::string_view part : {version, trace, span, flags}) {
    if (!is_lower_hex(part)) return {};
  }
  if (version == "ff" || (version == "00" && text.size() != size)) return {};
  if (text.size() > size && text[size] != '-') return {};
  const auto is_zero = [](std::string_view id) { return id.find_first_not_of('0') == id.npos; };
  if (is_zero(trace) || is_zero(span)) return {};
  const bool is_sampled = (std::stoi(std::string(flags), nullptr, 16) & 1) != 0;
  return trace_context{std::string(trace), std::string(span), is_sampled};
}

inline std::string format_traceparent(const trace_context& c) {
  return "00-" + c.trace_id + "-" + c.span_id + (c.is_sampled ? "-01" : "-00");
}
//! [/parse]

// The name that the program gave to a task, or an empty text: with_task_group() names its body.
inline std::string_view name_of(const leat::task_context& task) {
  return task.name() == "body" ? "" : task.name();
}
