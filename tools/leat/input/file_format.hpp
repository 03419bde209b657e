#pragma once

#include <optional>
#include <string_view>

#include <leat/codec/compression/compression.hpp>

namespace tool {

/// How records lie in a file.
enum class format { tfrecord, lines, fixed, csv };

/// What the name of a file tells: "a.csv.gz" holds csv, compressed with gzip.
struct format_guess {
  std::optional<format> records;  ///< empty: the name does not tell
  leat::compression compression = leat::compression::none;
};
[[nodiscard]] format_guess guess_format(std::string_view path);

}  // namespace tool
