#pragma once

#include <optional>
#include <string_view>

#include <leat/codec/compression/compression.hpp>

namespace tool {

/// The format of the records in a file.
enum class format { tfrecord, lines, fixed, csv };

/// The format according to the name of a file: "a.csv.gz" contains csv, compressed with gzip.
struct format_guess {
  std::optional<format> records;  ///< not set: unknown suffix
  leat::compression compression = leat::compression::none;
};
[[nodiscard]] format_guess guess_format(std::string_view path);

}  // namespace tool
