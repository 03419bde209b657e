#pragma once

// Pipelines whose states the fuzz targets restore, by rank. Together they cover every field of a
// state.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leat/base/bytes.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "leat/pipeline/read_indexed.hpp"
#include "leat/sim/world/world.hpp"
#include "support/records/record_bytes.hpp"

namespace leat_test {

/// Writes the files that the pipelines read.
inline void write_files(leat::sim::world& w) {
  w.files().write_file("/lines/a", "1\n2\n3\n4\n5\n");
  w.files().write_file("/lines/b", "");
  w.files().write_file("/lines/c", "11\n12\n13\n");
  w.files().write_file("/lines/d", "21\n22\n23\n24\n25\n26\n27\n");
  w.files().write_file("/records/a", framed({"1", "22", "333", "", "55555"}));
  w.files().write_file("/records/b", framed({"6", "77", "888"}));
}

inline auto declare_files(std::uint64_t rank, std::uint64_t world_size) {
  return leat::read_files<leat::line_reader>(
             {.files = {"/lines/?"},
              .num_epochs = std::nullopt,
              .shuffle = true,
              .seed = 3,
              .interleave = 2,
              .block_length = 2,
              .world = {.rank = rank, .world_size = world_size},
              .reader = {.compression = leat::compression::none, .read = {.chunk_size = 8}}},
             {.name = "fuzz"})
      .map("text", [](std::string_view line) { return std::string(line); })
      .flat_map(
          "parts",
          [](const std::string& text) { return std::vector<std::string>(text.size() % 3, text); })
      .shuffle({.capacity = 4, .seed = 1});
}

inline auto declare_batches(std::uint64_t rank, std::uint64_t world_size) {
  const auto each = [](std::vector<std::string> batch) { return batch; };
  return leat::read_files<leat::line_reader>({.files = {"/lines/?"},
                                              .num_epochs = 2,
                                              .interleave = 3,
                                              .block_length = 1,
                                              .world = {.rank = rank, .world_size = world_size},
                                              .reader = {.compression = leat::compression::none}},
                                             {.name = "fuzz"})
      .map("text",
           [](std::string_view line) -> std::optional<std::string> {
             if (line.ends_with('2')) return std::nullopt;
             return std::string(line);
           })
      .batch({.batch_size = 3})
      .flat_map("each", each)
      .batch({.batch_size = 2, .name = "pairs"})
      .flat_map("each of two", each);
}

inline auto declare_index(std::uint64_t rank, std::uint64_t world_size,
                          leat::shard_by by = leat::shard_by::records) {
  return leat::read_indexed({"/records/?"},
                            {.num_epochs = 3,
                             .seed = 5,
                             .world = {.rank = rank, .world_size = world_size},
                             .shard = {.by = by},
                             .batch_size = 2},
                            {.name = "fuzz"})
      .shuffle({.capacity = 3, .seed = 2})
      .map("text", [](leat::byte_view record) { return std::string(leat::as_text(record)); });
}

inline auto declare_index_by_files(std::uint64_t rank, std::uint64_t world_size) {
  return declare_index(rank, world_size, leat::shard_by::files);
}

}  // namespace leat_test
