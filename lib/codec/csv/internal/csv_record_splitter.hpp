#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "leat/base/bytes.hpp"

namespace LEAT::detail {

/// Splits text into records of comma-separated values. csv_splitter can split each of them into
/// fields.
///
/// A record ends with LF, CR LF or CR outside quotes, or with the text. A quote is allowed at the
/// begin of a field, which ends with another quote that the delimiter or the end of the record
/// follows; inside the field, quotes are doubled. The result does not depend on how a text is split
/// into pieces.
///
/// Thread safety: thread-compatible.
/// Cost: about 0.1 ns for each byte and 6 ns for each quote and line end, if AVX2 is available.
class csv_record_splitter {
 public:
  struct settings {
    char delimiter = ',';
    bool quotes = true;               ///< if false, a quote is an ordinary byte
    bool skip_blank_lines = true;     ///< if false, a line without bytes is an empty record
    std::size_t max_size = SIZE_MAX;  ///< of a record, without its line end
  };
  enum class state : std::uint8_t { outside_quotes, inside_quotes, after_quote };

  /// A text that begins with a record.
  struct input {
    std::string_view text;
    bool is_last = false;      ///< nothing follows
    std::size_t searched = 0;  ///< bytes at its beginning in which an earlier call found no record
    state at_searched = {};    ///< result::rest of that call
  };

  struct result {
    std::size_t consumed = 0;  ///< bytes of the complete records, with their line ends
    state rest = {};           ///< at the end of the text, within the incomplete record
    /// The reason why the record at `consumed` is malformed; null if it is not.
    const char* fault = nullptr;
    std::size_t fault_at = 0;  ///< the offset in the text of the quote that is wrong
    bool is_too_long = false;  ///< the record at `consumed` exceeds settings::max_size
  };

  explicit csv_record_splitter(const settings& s) noexcept : settings_(s) {}

  /// Appends the complete records at the beginning of a text to `records`, without their line ends.
  /// Stops before a record that is malformed or too long. Errors: std::bad_alloc.
  result split(const input& in, std::vector<byte_view>& records) const;

 private:
  class scan;

  settings settings_;
};

/// Returns the offset after the first line end of `text`: LF, CR LF or CR. Returns 0 if there is
/// none, or if its end is not known because text follows.
[[nodiscard]] std::size_t end_of_line(std::string_view text, bool is_last) noexcept;

}  // namespace LEAT::detail
