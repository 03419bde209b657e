#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "leat/codec/compression/compression.hpp"
#include "leat/io/stream/internal/decompressed_stream.hpp"

namespace LEAT::detail {

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
    if constexpr (requires { o.compression; }) {
      if (o.compression != compression::none) one += of_chunks(decompressed_chunks);
    }
    if (ahead) one += 2 * chunk;
    return readers * one;
  } else {
    return 0;
  }
}

}  // namespace LEAT::detail
