#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "leat/pipeline/source/detail/reader_memory.hpp"
#include "leat/pipeline/source/detail/saved_file_versions.hpp"
#include "leat/pipeline/source/file_source.hpp"
#include "leat/pipeline/stage/detail/pipeline_context.hpp"

namespace LEAT::detail {

inline constexpr std::size_t most_readers = 1024;

/// Returns the number of reader tasks, or 0 for none: each interleaved file has one.
template <class Reader>
[[nodiscard]] std::size_t readers_of(const file_source<Reader>& source) noexcept {
  return source.readers == 0 ? 0 : std::max(source.readers, source.interleave);
}

/// Rejects invalid options of a source. Errors: invalid_argument, with the stage.
template <class Reader>
void check_file_source(const file_source<Reader>& source, const pipeline_context& context) {
  const std::string& name = source.name;
  if (source.files.empty())
    context.throw_declaration_error(name, "no files: list at least one path or pattern");
  if (source.num_epochs == std::uint64_t{0}) {
    context.throw_declaration_error(
        name, "num_epochs is 0: set at least 1, or leave it unset to repeat endlessly");
  }
  const std::string* const descriptor = find_descriptor_path(source.files);
  if (descriptor && source.num_epochs != std::uint64_t{1}) {
    context.throw_declaration_error(
        name, "'" + *descriptor + "' can be read only once: set num_epochs to 1");
  }
  if (source.interleave == 0 || source.interleave > most_readers) {
    context.throw_declaration_error(
        name, "interleave is " + std::to_string(source.interleave) + ": set 1 to 1024 files");
  }
  if (source.block_length == 0)
    context.throw_declaration_error(name, "block_length is 0: set at least 1 record");
  if (source.readers > most_readers)
    context.throw_declaration_error(
        name, "readers is " + std::to_string(source.readers) + ": set at most 1024");
  if (const std::string error = source.world.error(); !error.empty())
    context.throw_declaration_error(name, error);
  if (source.world.world_size > 1 && source.shuffle && !source.seed) {
    context.throw_declaration_error(
        name, "shuffle without a seed on several ranks: set the same seed on all ranks");
  }
  Reader::check_options(source.reader, context.title_of(name));
}

/// Returns the memory that its readers need at least.
template <class Reader>
[[nodiscard]] std::size_t least_memory_of(const file_source<Reader>& source) noexcept {
  const bool ahead = source.readers > 0;
  return memory_of_readers(source.reader, ahead ? source.readers : source.interleave, ahead);
}

}  // namespace LEAT::detail
