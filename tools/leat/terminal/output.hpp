#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace tool {

/// JSON whose fields keep the order in which they were added.
using json = nlohmann::ordered_json;

/// Returns a line of JSON, with a newline.
[[nodiscard]] std::string to_line(const json& object);

/// Appends a member to an object, in constant time: operator[] looks through all members first.
///
/// Precondition: the object has no member of this name.
void add_member(json& object, const std::string& name, json value);

/// The condition for colored output.
enum class colors { automatic, always, never };

/// Standard output, written in pieces of 64 KiB. A failed write throws std::system_error, or
/// ended_by_signal if the reader has closed the pipe.
class output {
 public:
  output() = default;
  output(const output&) = delete;
  output& operator=(const output&) = delete;

  void write(std::string_view text);

  /// A line of JSON.
  void write_line(const json& object);

  /// Writes the buffered text. On a terminal, write() does this after each line.
  void flush();

  /// Returns true if standard output is a terminal.
  [[nodiscard]] static bool is_terminal() noexcept;

 private:
  std::string buffer_;
};

/// Returns the number of the write to standard output that is in progress; 0 if there is none. Any
/// thread may call it to find out whether the reader has stopped reading.
[[nodiscard]] std::uint64_t write_in_progress() noexcept;

/// Adds colors to text if standard output is a terminal and colors are not disabled.
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

/// Prints "leat: text" on standard error, on one line, with control characters escaped.
void print_error(std::string_view text);

/// Prints a text on standard error as it is.
void print_plain_error(std::string_view text);

}  // namespace tool
