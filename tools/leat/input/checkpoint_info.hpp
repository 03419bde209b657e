#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leat/codec/checkpoint/checkpoint_table.hpp>

namespace tool {

/// A checkpoint file, as far as it can be read.
struct checkpoint_info {
  std::string path;
  std::optional<std::uint64_t> step;  ///< if the name ends with one
  double time = 0;                    ///< of the last change, seconds since 1970
  std::uint64_t size = 0;             ///< bytes of the file
  leat::checkpoint_table table;       ///< empty if the file is not intact
  std::string error;                  ///< empty: the file is intact

  /// The name without the directory and the step.
  [[nodiscard]] std::string basename() const;
};

/// Reads header and table, and compares the size of the file with them.
/// `verify`: reads every value too, and compares its checksum.
///
/// Errors: std::system_error if the file cannot be read; corruption is in `error`.
[[nodiscard]] checkpoint_info read_checkpoint_info(const std::string& path, bool verify);

/// Reads all checkpoints of a directory, in the order of basename and step. A file is a checkpoint
/// if it begins with the magic number of the format, or if its name differs from a checkpoint only
/// in the step. Files that are being written (.partial) and subdirectories are ignored.
///
/// Errors: std::system_error if the directory or a file cannot be read.
[[nodiscard]] std::vector<checkpoint_info> find_checkpoints(const std::string& directory,
                                                            bool verify);

}  // namespace tool
