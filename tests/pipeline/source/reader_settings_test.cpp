#include "leat/pipeline/source/detail/reader_settings.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/codec/compression/compression.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"

namespace reader_settings_test {

std::optional<std::uint64_t> setting_of(const leat::tfrecord_reader_options& o,
                                        std::string_view name) {
  std::vector<leat::detail::setting> all;
  leat::detail::add_reader_settings(o, all);
  for (const leat::detail::setting& s : all) {
    if (s.name == name) return s.value;
  }
  return std::nullopt;
}

TEST_CASE("reader_settings: memory limits determine which records a search skips", "[pipeline]") {
  leat::tfrecord_reader_options o;
  o.corruption.max_held = 9;
  CHECK(setting_of(o, "max_record_size") == o.max_record_size);
  CHECK(setting_of(o, "corruption.policy") == 0);
  CHECK(setting_of(o, "corruption.max_held") == std::nullopt);
  o.corruption.policy = leat::corruption_policy::resync;
  CHECK(setting_of(o, "corruption.max_held") == 9);
}

TEST_CASE("reader_settings: memory of a reader of compressed files covers both streams",
          "[pipeline]") {
  constexpr std::size_t kibibyte = 1024;
  constexpr std::size_t huge_page = 2048 * kibibyte;
  leat::tfrecord_reader_options o{.compression_type = leat::compression::none,
                                  .read = {.chunk_size = 64 * kibibyte, .depth = 4}};
  const auto memory = [&](std::size_t readers, bool ahead = false) {
    return leat::detail::memory_of_readers(o, readers, ahead);
  };
  constexpr std::size_t chunk = 192 * kibibyte;
  CHECK(memory(3) == 3 * 6 * chunk);
  CHECK(memory(3, true) == 3 * 8 * chunk);
  for (const std::optional<leat::compression> type :
       {std::optional(leat::compression::zlib), std::optional<leat::compression>()}) {
    o.compression_type = type;
    CHECK(memory(3) == 3 * 9 * chunk);
    CHECK(memory(3, true) == 3 * 11 * chunk);
  }
  o.read.chunk_size = 896 * kibibyte;  // with its headroom half a huge page
  CHECK(memory(1) == 3 * huge_page + 2 * huge_page);
  CHECK(memory(1, true) == 3 * huge_page + 2 * huge_page + huge_page);
}

}  // namespace reader_settings_test
