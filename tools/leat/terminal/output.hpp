#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace tool {

/// Whose fields stay in the order in which they were added.
using json = nlohmann::ordered_json;

/// A line of JSON, with its end.
[[nodiscard]] std::string to_line(const json& object);

/// Appends a member to an object, in constant time: operator[] looks through all members first.
///
/// Precondition: the object has no member of this name.
void add_member(json& object, const std::string& name, json value);

/// When words are coloured.
enum class colors { automatic, always, never };

/// Standard output, in pieces of 64 KiB. What cannot be written is an error: std::system_error; or
/// ended_by_signal when nobody reads any more.
class output {
 public:
  output() = default;
  output(const output&) = delete;
  output& operator=(const output&) = delete;

  void write(std::string_view text);

  /// A line of JSON.
  void write_line(const json& object);

  /// Writes what is left. On a terminal each line is shown at once.
  void flush();

 private:
  std::string buffer_;
};

/// The number of the write to standard output that is in progress; 0 if there is none. Any thread
/// may call it, to see whether a reader has stopped reading.
[[nodiscard]] std::uint64_t write_in_progress() noexcept;

/// Text that goes with a colour where standard output is a terminal and nobody objects.
class palette {
 public:
  explicit palette(colors when);

  [[nodiscard]] std::string good(std::string_view text) const { return paint("32", text); }
  [[nodiscard]] std::string bad(std::string_view text) const { return paint("31;1", text); }
  [[nodiscard]] std::string doubtful(std::string_view text) const { return paint("33", text); }
  [[nodiscard]] std::string strong(std::string_view text) const { return paint("1", text); }

 private:
  [[nodiscard]] std::string paint(std::string_view color, std::string_view text) const;

  bool on_;
};

/// Says something on standard error: "leat: text", on one line and harmless to a terminal.
void print_error(std::string_view text);

}  // namespace tool
