#include "leat/io/reader/whole_file_reader.hpp"

#include "io/reader/record_reader_definitions.hpp"

namespace LEAT {
namespace detail {

whole_file_framing::whole_file_framing(const options& o, std::string_view path) : options_(o) {
  if (o.max_file_size > 0) return;
  throw failure(errc::invalid_argument,
                std::string(path) + ": max_file_size is 0, must be 1 or more");
}

// One piece, which then need not be copied together.
decompressed_stream_options whole_file_framing::stream(const file_status& status) const noexcept {
  // A file that turns out to be compressed needs several pieces of this size.
  const std::uint64_t largest_piece = std::uint64_t{1} << (options_.compression ? 30 : 26);
  decompressed_stream_options o{.read = options_.read,
                                .compression = options_.compression,
                                .decompression = options_.decompression};
  const bool plain =
      o.compression.value_or(compression::none) == compression::none && status.size > 0;
  if (plain && status.size <= options_.max_file_size) {
    o.read.chunk_size = static_cast<std::size_t>(std::min(status.size, largest_piece));
    o.read.depth = 1;
  }
  return o;
}

framing_result whole_file_framing::find(const framing_input& input,
                                        std::vector<view>& records) const {
  framing_result result;
  const std::uint64_t there = input.bytes.size();
  const std::uint64_t size = input.left == unknown_size ? there : input.left;
  if (input.index > 0) {
    result.consumed = there;
  } else if (size > options_.max_file_size) {
    result.fault.emplace();
    result.fault->reason = errc::resource_exhausted;
    result.fault->what =
        std::to_string(size) + " bytes" + (input.left == unknown_size ? " or more" : "") +
        " are above the limit max_file_size of " + std::to_string(options_.max_file_size);
    result.fault->size = size;
  } else if (input.left == there) {
    records.push_back(input.bytes);
    result.consumed = there;
  }
  return result;
}

std::string whole_file_framing::key(const record_position& p) { return std::string(p.path); }

}  // namespace detail

template class basic_record_reader<detail::whole_file_framing>;

}  // namespace LEAT
