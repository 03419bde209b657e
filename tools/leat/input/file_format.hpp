#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <leat/codec/compression/compression.hpp>
#include <leat/pipeline/plan/record_format.hpp>

namespace tool {

/// The format of the records in a file.
using format = leat::record_format;

/// The names of formats: of all, and of those that can be written.
using format_choices = std::map<std::string, format, std::less<>>;
[[nodiscard]] const format_choices& all_formats();
[[nodiscard]] const format_choices& written_formats();

/// The format according to the name of a file: "a.csv.gz" contains csv, compressed with gzip.
struct format_guess {
  std::optional<format> records;  ///< not set: unknown suffix
  leat::compression compression = leat::compression::none;
};
[[nodiscard]] format_guess guess_format(std::string_view path);

}  // namespace tool
