#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "leat/base/clock.hpp"

namespace LEAT::detail {

/// Appends the events of Chrome's trace event format to a text: one JSON object in each line.
///
///     trace_event(text, 'X', "read").at(begin).lasting(d).thread(1).argument("task", "2.1").end();
///
/// Text that is passed as `escaped` has gone through escaped_json().
class trace_event {
 public:
  /// Begins an event. `phase`: its kind in the format, such as 'X' for a complete one.
  trace_event(std::string& text, char phase, std::string_view escaped_name);

  trace_event& category(std::string_view word);
  /// `since_begin`: the time since the start of the trace.
  trace_event& at(duration since_begin);
  trace_event& lasting(duration d);
  trace_event& thread(std::uint64_t number);
  /// The ID that connects asynchronous events.
  trace_event& id(std::string_view escaped);
  trace_event& argument(std::string_view name, std::string_view escaped);
  trace_event& argument(std::string_view name, std::uint64_t number);
  void end();

 private:
  void begin_argument(std::string_view name);

  std::string& text_;
  bool has_arguments_ = false;
};

/// Returns `text` as the content of a JSON string.
[[nodiscard]] std::string escaped_json(std::string_view text);

}  // namespace LEAT::detail
