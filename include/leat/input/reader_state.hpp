#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace leat {

/// Where a queue_reader stands in a file that it has not finished.
struct reader_position {
  std::uint64_t offset = 0;      ///< of the next record; field 5 of a reader_state
  std::uint64_t index = 0;       ///< of the next record; field 6
  std::uint64_t file_size = 0;   ///< when the file was opened; field 7
  std::int64_t modified_ns = 0;  ///< as file_status::modified_ns; field 8

  friend bool operator==(const reader_position&, const reader_position&) = default;
};

/// What a queue_reader needs to go on where it was: a few bytes, never the records.
///
/// In protobuf's wire format, the first four fields as TensorFlow's ReaderBaseState; the fields of
/// a reader_position are present while a file is being read, the last two if they are not 0.
struct reader_state {
  std::uint64_t work_started = 0;          ///< field 1, files
  std::uint64_t work_finished = 0;         ///< field 2, files
  std::uint64_t num_records_produced = 0;  ///< field 3
  std::string current_work = {};           ///< field 4, a path
  std::optional<reader_position> at = {};  ///< present: the file is not finished
  std::uint64_t reports = 0;               ///< field 9, of what was left out as corrupt
  std::uint64_t left_over = 0;             ///< field 10, bytes that are no whole record

  friend bool operator==(const reader_state&, const reader_state&) = default;

  /// The state as bytes; the same bytes for the same state.
  [[nodiscard]] std::string to_bytes() const;

  /// The state in `bytes`. Errors: invalid_argument for what to_bytes() cannot have written, with
  /// `reader`, the name of who is to be restored.
  [[nodiscard]] static reader_state from_bytes(std::string_view bytes, std::string_view reader);
};

}  // namespace leat
