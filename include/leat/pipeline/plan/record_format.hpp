#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "leat/base/flavour.hpp"

namespace LEAT {

/// The format of files of records, and the reader of a pipeline_plan. The enumerators are in the
/// order of the alternatives of plan_source.
enum class record_format : std::uint8_t {
  tfrecord,     ///< TFRecord files, by tfrecord_reader
  indexed,      ///< TFRecord files in a global shuffle, by indexed_reader
  lines,        ///< lines of text, by line_reader
  csv,          ///< comma-separated values, by csv_reader
  fixed,        ///< records of one size, by fixed_length_reader
  whole_files,  ///< one record for each file, by whole_file_reader
};

/// The facts about a format for programs that read or write any format.
struct record_format_info {
  record_format format;      ///< the format that it describes
  std::string_view name;     ///< the name of the enumerator
  bool has_lines;            ///< true if elements are lines; otherwise, they are records
  bool is_tfrecord;          ///< true if the files are TFRecord files
  std::size_t framing_size;  ///< bytes of a record in a file besides its own; 0 if they vary
  /// The suffixes of file names, the usual one first; empty if names do not determine the format.
  std::span<const std::string_view> suffixes;
};

/// Returns the table of all formats, in the order of the enumerators.
///
/// Thread safety: thread-safe.
[[nodiscard]] std::span<const record_format_info> record_formats() noexcept;

/// Returns the row of a format.
[[nodiscard]] inline const record_format_info& info_of(record_format format) noexcept {
  return record_formats()[static_cast<std::size_t>(format)];
}

}  // namespace LEAT
