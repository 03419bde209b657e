#include "leat/codec/compression/compression.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "codec/compression/inflater.hpp"
#include "leat/base/error.hpp"
#include "leat/codec/compression/decompressor.hpp"
#include "leat/codec/tfrecord/tfrecord.hpp"

namespace LEAT {
namespace {

// All that the library knows of a compression.
struct format_row : compression_format {
  std::string_view magic;  // the first bytes of each file
  // Used instead of `magic` if there is no such text.
  detail::sample_match (*match)(byte_view beginning);
  std::unique_ptr<decompressor> (*make)(compression format, const decompression_options& options);
};

// A new compression needs an enumerator, a row, and a source with its decompressor.
constexpr std::array<format_row, 2> format_rows{{
    {{compression::zlib, "ZLIB", {".zz", ".zlib"}}, "", detail::match_zlib, detail::make_inflater},
    {{compression::gzip, "GZIP", {".gz"}}, "\x1f\x8b\x08", nullptr, detail::make_inflater},
}};

constexpr auto public_formats = [] {
  std::array<compression_format, format_rows.size()> all;
  std::ranges::copy(format_rows, all.begin());
  return all;
}();

const format_row* find_format_row(compression type) noexcept {
  const auto row = std::ranges::find(format_rows, type, &format_row::type);
  return row != format_rows.end() ? &*row : nullptr;
}

detail::sample_match match_row(const format_row& row, byte_view beginning) {
  if (row.match != nullptr) return row.match(beginning);
  const std::string_view text = as_text(beginning).substr(0, row.magic.size());
  if (!row.magic.starts_with(text)) return detail::sample_match::no;
  return text.size() < row.magic.size() ? detail::sample_match::incomplete
                                        : detail::sample_match::yes;
}

}  // namespace

std::span<const compression_format> compression_formats() noexcept { return public_formats; }

std::string_view to_string(compression c) noexcept {
  if (c == compression::none) return "none";
  const format_row* const row = find_format_row(c);
  return row != nullptr ? row->name : "?";
}

compression parse_compression(std::string_view text) {
  if (text.empty() || text == "none") return compression::none;
  std::string names = "none";
  for (const format_row& row : format_rows) {
    if (text == row.name) return row.type;
    names.append(", ").append(row.name);
  }
  throw failure(errc::invalid_argument, "unknown compression '" + std::string(text) + "': use " +
                                            names + " or an empty string");
}

std::unique_ptr<decompressor> make_decompressor(compression format,
                                                const decompression_options& options) {
  const format_row* const row = find_format_row(format);
  if (row == nullptr) {
    throw failure(errc::invalid_argument,
                  "make_decompressor: format is compression::none, which needs no decompressor");
  }
  options.check("make_decompressor");
  return row->make(format, options);
}

compression detect_compression(byte_view beginning) {
  for (const format_row& row : format_rows) {
    if (match_row(row, beginning) == detail::sample_match::yes) return row.type;
  }
  return compression::none;
}

bool needs_larger_sample(byte_view beginning) {
  return std::ranges::any_of(format_rows, [&](const format_row& row) {
    return match_row(row, beginning) == detail::sample_match::incomplete;
  });
}

compression detect_tfrecord_compression(byte_view beginning) {
  const bool is_record = beginning.size() >= tfrecord_header_size &&
                         find_tfrecord(beginning.first(tfrecord_header_size), UINT64_MAX) == 0U;
  return is_record ? compression::none : detect_compression(beginning);
}

}  // namespace LEAT
