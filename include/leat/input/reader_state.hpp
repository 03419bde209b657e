#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "leat/files/file_backend.hpp"

namespace LEAT {

/// The position of a filename_queue_reader in a file that it has not finished.
struct reader_position {
  std::uint64_t offset = 0;      ///< of the next record; field 5 of a reader_state
  std::uint64_t index = 0;       ///< of the next record; field 6
  std::uint64_t file_size = 0;   ///< when the file was opened; field 7
  std::int64_t modified_ns = 0;  ///< as file_status::modified_ns; field 8

  friend bool operator==(const reader_position&, const reader_position&) = default;
};

/// The state that a filename_queue_reader needs to continue: a few bytes, never the records.
///
/// The bytes are in protobuf's wire format, and the first four fields are those of TensorFlow's
/// ReaderBaseState. Field 5 is present if and only if a file is being read. All other fields are
/// absent if they are 0 or empty.
struct reader_state {
  std::uint64_t work_started = 0;          ///< field 1, files
  std::uint64_t work_finished = 0;         ///< field 2, files
  std::uint64_t num_records_produced = 0;  ///< field 3
  std::string current_work = {};           ///< field 4, a path
  std::optional<reader_position> at = {};  ///< set if the file is not finished
  std::uint64_t reports = 0;               ///< field 9, reports of data skipped as corrupt
  std::uint64_t left_over = 0;             ///< field 10, bytes that are not a complete record

  friend bool operator==(const reader_state&, const reader_state&) = default;

  /// Returns the state as bytes. Equal states have equal bytes.
  [[nodiscard]] std::string to_bytes() const;

  /// Returns the state in `bytes`. `reader` is the name of the reader to restore, for messages.
  ///
  /// Errors: invalid_argument if to_bytes() cannot have written `bytes`.
  [[nodiscard]] static reader_state from_bytes(std::string_view bytes, std::string_view reader);
};

namespace detail {

/// Returns the reason why a file with the status `now` cannot be read from a position of a state;
/// empty if it can.
[[nodiscard]] std::string resume_error(const reader_position& position, const file_status& now);

}  // namespace detail
}  // namespace LEAT
