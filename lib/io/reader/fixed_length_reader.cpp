#include "leat/io/reader/fixed_length_reader.hpp"

#include "io/reader/record_reader_definitions.hpp"

namespace LEAT {
namespace detail {
namespace {

constexpr std::size_t max_size = std::size_t{1} << 30;

void check_length(std::size_t size, std::size_t least, const char* option, std::string_view path) {
  if (size >= least && size <= max_size) return;
  throw failure(errc::invalid_argument,
                std::string(path) + ": fixed_length_reader_options::" + option + " is " +
                    std::to_string(size) + ", must be " + std::to_string(least) + " to " +
                    std::to_string(max_size));
}

}  // namespace

fixed_length_framing::fixed_length_framing(const options& o, std::string_view path) : options_(o) {
  check_length(o.record_size, 1, "record_size", path);
  check_length(o.header_size, 0, "header_size", path);
  check_length(o.footer_size, 0, "footer_size", path);
  check_length(o.hop_size, 0, "hop_size", path);
  if (o.hop_size == 0) options_.hop_size = o.record_size;
}

decompressed_stream_options fixed_length_framing::stream(const file_status&) const noexcept {
  return {.read = options_.read,
          .compression = options_.compression,
          .decompression = options_.decompression};
}

framing_result fixed_length_framing::find(const framing_input& input,
                                          std::vector<view>& records) const {
  const std::size_t size = input.bytes.size();
  const std::size_t whole = options_.record_size + options_.footer_size;
  std::size_t next = 0;
  std::size_t delivered = 0;  // up to here
  while (next <= size && size - next >= whole) {
    records.push_back(input.bytes.subspan(next, options_.record_size));
    delivered = next + options_.record_size;
    next += options_.hop_size;
  }
  if (input.left == size) return end(input, next, delivered);
  framing_result result;
  result.consumed = next;
  return result;
}

// The stream ends with this run, and records end before the footer.
framing_result fixed_length_framing::end(const framing_input& input, std::size_t next,
                                         std::size_t delivered) const {
  framing_result result;
  result.consumed = input.bytes.size();
  if (input.missing > 0 && input.index == 0) {
    result.fault.emplace();
    result.fault->what = "file has " + std::to_string(options_.header_size - input.missing) +
                         " bytes, but header_size is " + std::to_string(options_.header_size);
    result.fault->size = 0;
    return result;
  }
  const std::size_t records_end =
      input.bytes.size() - std::min(input.bytes.size(), options_.footer_size);
  const std::size_t behind = std::max(next, delivered);
  if (records_end > behind) result.left_over = records_end - behind;
  return result;
}

std::string fixed_length_framing::position_text(std::uint64_t index) {
  return "record " + std::to_string(index);
}

std::string fixed_length_framing::key(const record_position& p) {
  return std::string(p.path) + ":" + std::to_string(p.index);
}

}  // namespace detail

template class basic_record_reader<detail::fixed_length_framing>;

}  // namespace LEAT
