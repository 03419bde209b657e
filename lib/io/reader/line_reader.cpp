#include "leat/io/reader/line_reader.hpp"

#include <cstdint>
#include <cstring>

#include "codec/text/internal/line_splitter.hpp"
#include "io/reader/record_reader_definitions.hpp"

namespace LEAT {
namespace detail {

line_framing::line_framing(const options& o, std::string_view path) : options_(o) {
  if (o.max_line_size == 0) {
    throw failure(errc::invalid_argument,
                  std::string(path) + ": max_line_size is 0, must be 1 or more");
  }
  if (o.skip_header_lines <= PTRDIFF_MAX) return;
  throw failure(errc::invalid_argument, std::string(path) + ": skip_header_lines is " +
                                            std::to_string(o.skip_header_lines) +
                                            ", must be at most 2^63 - 1");
}

decompressed_stream_options line_framing::stream(const file_status&) const noexcept {
  return {.read = options_.read,
          .compression = options_.compression,
          .decompression = options_.decompression};
}

namespace {

// Bytes that are known to contain no line end are not searched again.
std::size_t whole_lines(std::string_view text, std::size_t searched,
                        std::vector<std::string_view>& lines) {
  if (searched == 0) return split_lines(text, lines);
  const std::size_t end = text.find('\n', searched);
  if (end == std::string_view::npos) return 0;
  lines.push_back(unterminated_line(text.substr(0, end)));
  return end + 1 + split_lines(text.substr(end + 1), lines);
}

}  // namespace

framing_result line_framing::find(const framing_input& input, std::vector<view>& lines) const {
  const std::string_view text = as_text(input.bytes);
  framing_result result;
  std::size_t consumed = whole_lines(text, input.searched, lines);
  const std::string_view rest = text.substr(consumed);
  if (!rest.empty() && input.left == text.size()) {
    lines.push_back(unterminated_line(rest));
    consumed = text.size();
  } else if (const std::size_t size = unterminated_line(rest).size();
             size > options_.max_line_size) {
    result.fault = too_long(size);
  }
  // Checked here, not in the splitter, so that shorter lines cost nothing.
  const auto long_line = std::find_if(lines.begin(), lines.end(), [this](std::string_view line) {
    return line.size() > options_.max_line_size;
  });
  if (long_line != lines.end()) {
    const char* const end =
        long_line + 1 == lines.end() ? text.data() + consumed : (long_line + 1)->data();
    result.fault = too_long(long_line->size());
    result.fault->size = static_cast<std::uint64_t>(end - long_line->data());
    consumed = static_cast<std::size_t>(long_line->data() - text.data());
    lines.erase(long_line, lines.end());
  }
  result.consumed = consumed;
  if (input.index < options_.skip_header_lines) {
    result.left_out = std::min<std::size_t>(options_.skip_header_lines - input.index, lines.size());
    lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(result.left_out));
  }
  return result;
}

record_corruption line_framing::too_long(std::size_t size) const {
  return {.reason = errc::resource_exhausted,
          .what = std::to_string(size) + " bytes or more are above the limit max_line_size of " +
                  std::to_string(options_.max_line_size),
          .expected_crc = {},
          .actual_crc = {},
          .size = {}};
}

std::optional<std::size_t> line_framing::search(byte_view bytes) noexcept {
  const void* const end = std::memchr(bytes.data(), '\n', bytes.size());
  if (!end) return std::nullopt;
  return static_cast<std::size_t>(static_cast<const std::byte*>(end) - bytes.data()) + 1;
}

std::string line_framing::position_text(std::uint64_t index) {
  return "line " + std::to_string(index + 1);
}

std::string line_framing::key(const record_position& p) {
  return std::string(p.path) + ":" + std::to_string(p.index + 1);
}

}  // namespace detail

template class basic_record_reader<detail::line_framing>;

}  // namespace LEAT
