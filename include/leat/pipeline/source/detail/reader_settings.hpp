#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "leat/codec/compression/compression.hpp"
#include "leat/io/reader/corruption.hpp"
#include "leat/io/stream/detail/decompressed_stream.hpp"
#include "leat/pipeline/state/detail/stage_state.hpp"

namespace leat::detail {

/// Adds the options of a reader that determine which records a file has, their positions, and which
/// of them are skipped as corrupt.
template <class Options>
void add_reader_settings(const Options& o, std::vector<setting>& all) {
  if constexpr (requires { o.compression_type; }) {
    all.push_back({"compression", o.compression_type ? 1 + std::uint64_t(*o.compression_type) : 0});
  }
  if constexpr (requires { o.skip_header_lines; }) {
    all.push_back({"skip_header_lines", o.skip_header_lines});
  }
  if constexpr (requires { o.skip_header_records; }) {
    all.push_back({"skip_header_records", o.skip_header_records});
    all.push_back({"delimiter", static_cast<unsigned char>(o.delimiter)});
    all.push_back({"quotes", o.quotes});
    all.push_back({"skip_blank_lines", o.skip_blank_lines});
  }
  if constexpr (requires { o.record_size; }) {
    all.push_back({"record_size", o.record_size});
    all.push_back({"header_size", o.header_size});
    all.push_back({"footer_size", o.footer_size});
    all.push_back({"hop_size", o.hop_size});
  }
  if constexpr (requires { o.checks; }) {
    all.push_back({"checks", static_cast<std::uint64_t>(o.checks)});
  }
  if constexpr (requires { o.max_record_size; }) {
    all.push_back({"max_record_size", o.max_record_size});
  }
  if constexpr (requires { o.max_line_size; }) {
    all.push_back({"max_line_size", o.max_line_size});
  }
  if constexpr (requires { o.max_file_size; }) {
    all.push_back({"max_file_size", o.max_file_size});
  }
  if constexpr (requires { o.tolerate_truncated_tail; }) {
    all.push_back({"tolerate_truncated_tail", o.tolerate_truncated_tail});
  }
  if constexpr (requires { o.inflate; }) {
    all.push_back({"inflate.max_output", o.inflate.max_output});
    all.push_back({"inflate.max_ratio", o.inflate.max_ratio});
    all.push_back({"inflate.free_output", o.inflate.free_output});
  }
  if constexpr (requires { o.corruption; }) {
    all.push_back({"corruption.policy", static_cast<std::uint64_t>(o.corruption.policy)});
    if (o.corruption.policy == corruption_policy::resync) {
      all.push_back({"corruption.max_held", o.corruption.max_held});
    }
  }
}

/// Returns the memory of `readers` readers: the chunks of a file, and of a decompressed file, each
/// rounded up to huge pages if it is larger than one; `ahead`: also two batches that wait.
template <class Options>
[[nodiscard]] std::size_t memory_of_readers(const Options& o, std::size_t readers,
                                            bool ahead = false) noexcept {
  if constexpr (requires { o.read; }) {
    constexpr std::size_t more_of_chunk = std::size_t{128} << 10;
    constexpr std::size_t huge_page = std::size_t{2} << 20;
    const std::size_t chunk = o.read.chunk_size + more_of_chunk;
    const auto of_chunks = [chunk](std::size_t count) {
      const std::size_t all = count * chunk;
      return all < huge_page ? all : (all + huge_page - 1) / huge_page * huge_page;
    };
    std::size_t one = of_chunks(o.read.depth + 2);
    if constexpr (requires { o.compression_type; }) {
      if (o.compression_type != compression::none) one += of_chunks(inflated_chunks);
    }
    if (ahead) one += 2 * chunk;
    return readers * one;
  } else {
    return 0;
  }
}

}  // namespace leat::detail
