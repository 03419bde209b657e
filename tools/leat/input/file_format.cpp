#include "input/file_format.hpp"

#include <string_view>

#include "leat/codec/compression/compression.hpp"

namespace tool {
namespace {

// A format without a suffix is a way to read files of others.
format_choices choose_formats(bool all) {
  format_choices chosen;
  for (const leat::record_format_info& f : leat::record_formats()) {
    if (all || !f.suffixes.empty()) chosen.emplace(f.name, f.format);
  }
  return chosen;
}

// Removes the extension of a compression.
leat::compression take_compression(std::string_view& path) {
  for (const leat::compression_format& f : leat::compression_formats()) {
    for (const std::string_view suffix : f.extensions) {
      if (suffix.empty() || !path.ends_with(suffix)) continue;
      path.remove_suffix(suffix.size());
      return f.type;
    }
  }
  return leat::compression::none;
}

}  // namespace

const format_choices& all_formats() {
  static const format_choices all = choose_formats(true);
  return all;
}

const format_choices& written_formats() {
  static const format_choices written = choose_formats(false);
  return written;
}

format_guess guess_format(std::string_view path) {
  format_guess guess;
  guess.compression = take_compression(path);
  for (const leat::record_format_info& f : leat::record_formats()) {
    for (const std::string_view suffix : f.suffixes) {
      if (path.ends_with(suffix)) guess.records = f.format;
    }
  }
  return guess;
}

}  // namespace tool
