#pragma once

#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <string_view>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// Writes JSON (RFC 8259) on one line. The caller closes the objects and arrays that it opens.
///
/// Text may contain any bytes: control characters are escaped; a byte that is not valid UTF-8 is
/// written as the four characters \xE9.
class json_writer {
 public:
  explicit json_writer(std::ostream& out) noexcept : out_(out) {}

  json_writer& begin_object() { return open('{'); }
  json_writer& end_object() { return close('}'); }
  json_writer& begin_array() { return open('['); }
  json_writer& end_array() { return close(']'); }

  /// Writes the name of the next value.
  json_writer& key(std::string_view name);

  json_writer& value(std::string_view text);
  json_writer& value(const char* text) { return value(std::string_view(text)); }
  json_writer& value(std::uint64_t number);
  json_writer& value(std::same_as<bool> auto truth) { return literal(truth ? "true" : "false"); }
  json_writer& null() { return literal("null"); }
  /// Writes three decimals.
  json_writer& milliseconds(std::int64_t count);

  template <class Value>
  json_writer& member(std::string_view name, const Value& v) {
    return key(name).value(v);
  }

 private:
  json_writer& open(char bracket);
  json_writer& close(char bracket);
  json_writer& literal(std::string_view text);
  void separate();
  void write_text(std::string_view text);

  std::ostream& out_;
  bool first_ = true;  // in the object or array, or after a key
};

}  // namespace LEAT::detail
