#include "async/tracing/trace_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <sstream>
#include <utility>

#include "base/text/json_writer.hpp"

namespace LEAT::detail {

namespace {

void append_number(std::string& text, std::uint64_t number) {
  std::array<char, 20> digits;
  text.append(digits.data(),
              std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

// In microseconds, with three decimals.
void append_time(std::string& text, duration d) {
  const std::int64_t ns = std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
  const auto magnitude = static_cast<std::uint64_t>(ns < 0 ? -ns : ns);
  if (ns < 0) text += '-';
  append_number(text, magnitude / 1000);
  const std::uint64_t decimals = magnitude % 1000;
  if (decimals == 0) return;
  text += '.';
  text += static_cast<char>('0' + decimals / 100);
  text += static_cast<char>('0' + decimals / 10 % 10);
  text += static_cast<char>('0' + decimals % 10);
}

}  // namespace

trace_event::trace_event(std::string& text, char phase, std::string_view escaped_name)
    : text_(text) {
  text_ += R"({"ph":")";
  text_ += phase;
  text_ += R"(","name":")";
  text_ += escaped_name;
  text_ += R"(","pid":1)";
}

trace_event& trace_event::category(std::string_view word) {
  text_ += R"(,"cat":")";
  text_ += word;
  text_ += '"';
  return *this;
}
trace_event& trace_event::at(duration since_begin) {
  text_ += R"(,"ts":)";
  append_time(text_, since_begin);
  return *this;
}
trace_event& trace_event::lasting(duration d) {
  text_ += R"(,"dur":)";
  append_time(text_, d);
  return *this;
}
trace_event& trace_event::thread(std::uint64_t number) {
  text_ += R"(,"tid":)";
  append_number(text_, number);
  return *this;
}
trace_event& trace_event::id(std::string_view escaped) {
  text_ += R"(,"id":")";
  text_ += escaped;
  text_ += '"';
  return *this;
}
void trace_event::begin_argument(std::string_view name) {
  text_ += has_arguments_ ? R"(,")" : R"(,"args":{")";
  has_arguments_ = true;
  text_ += name;
  text_ += R"(":)";
}
trace_event& trace_event::argument(std::string_view name, std::string_view escaped) {
  begin_argument(name);
  text_ += '"';
  text_ += escaped;
  text_ += '"';
  return *this;
}
trace_event& trace_event::argument(std::string_view name, std::uint64_t number) {
  begin_argument(name);
  append_number(text_, number);
  return *this;
}
void trace_event::end() { text_ += has_arguments_ ? "}},\n" : "},\n"; }

std::string escaped_json(std::string_view text) {
  const auto is_plain = [](char c) { return c >= ' ' && c < 127 && c != '"' && c != '\\'; };
  if (std::ranges::all_of(text, is_plain)) return std::string(text);
  std::ostringstream out;
  json_writer(out).value(text);
  std::string quoted = std::move(out).str();
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace LEAT::detail
