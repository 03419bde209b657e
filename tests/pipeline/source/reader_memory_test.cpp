#include "leat/pipeline/source/detail/reader_memory.hpp"

#include <cstddef>
#include <optional>

#include <catch2/catch.hpp>

#include "leat/codec/compression/compression.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"

namespace reader_memory_test {

TEST_CASE("reader_memory: memory of a reader of compressed files covers both streams",
          "[pipeline]") {
  constexpr std::size_t kibibyte = 1024;
  constexpr std::size_t huge_page = 2048 * kibibyte;
  leat::tfrecord_reader_options o{.compression = leat::compression::none,
                                  .read = {.chunk_size = 64 * kibibyte, .depth = 4}};
  const auto memory = [&](std::size_t readers, bool ahead = false) {
    return leat::detail::memory_of_readers(o, readers, ahead);
  };
  constexpr std::size_t chunk = 192 * kibibyte;
  CHECK(memory(3) == 3 * 6 * chunk);
  CHECK(memory(3, true) == 3 * 8 * chunk);
  for (const std::optional<leat::compression> type :
       {std::optional(leat::compression::zlib), std::optional<leat::compression>()}) {
    o.compression = type;
    CHECK(memory(3) == 3 * 9 * chunk);
    CHECK(memory(3, true) == 3 * 11 * chunk);
  }
  o.read.chunk_size = 896 * kibibyte;  // with its headroom half a huge page
  CHECK(memory(1) == 3 * huge_page + 2 * huge_page);
  CHECK(memory(1, true) == 3 * huge_page + 2 * huge_page + huge_page);
}

}  // namespace reader_memory_test
