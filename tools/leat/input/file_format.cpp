#include "input/file_format.hpp"

#include <array>
#include <utility>

namespace tool {
namespace {

constexpr std::array<std::pair<std::string_view, leat::compression>, 3> compression_suffixes{{
    {".gz", leat::compression::gzip},
    {".zz", leat::compression::zlib},
    {".zlib", leat::compression::zlib},
}};

constexpr std::array<std::pair<std::string_view, format>, 8> format_suffixes{{
    {".tfrecord", format::tfrecord},
    {".tfrecords", format::tfrecord},
    {".tfr", format::tfrecord},
    {".txt", format::lines},
    {".jsonl", format::lines},
    {".log", format::lines},
    {".csv", format::csv},
    {".bin", format::fixed},
}};

}  // namespace

format_guess guess_format(std::string_view path) {
  format_guess guess;
  for (const auto& [suffix, compression] : compression_suffixes) {
    if (!path.ends_with(suffix)) continue;
    guess.compression = compression;
    path.remove_suffix(suffix.size());
    break;
  }
  for (const auto& [suffix, records] : format_suffixes) {
    if (path.ends_with(suffix)) guess.records = records;
  }
  return guess;
}

}  // namespace tool
