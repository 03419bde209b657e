#include "leat/io/reader/csv_reader.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "codec/csv/internal/csv_record_splitter.hpp"
#include "codec/csv/internal/csv_text.hpp"
#include "io/reader/record_reader_definitions.hpp"

namespace LEAT {
namespace detail {
namespace {

using splitter_state = csv_record_splitter::state;

// The value of framing_result::state if the record has to be searched from its begin.
constexpr std::uint8_t search_again = UINT8_MAX;

record_corruption malformed(const csv_record_splitter::result& found) {
  record_corruption c;
  c.what = "byte " + std::to_string(found.fault_at - found.consumed + 1) + ": " + found.fault;
  return c;
}

record_corruption not_utf8() {
  record_corruption c;
  c.reason = errc::unimplemented;
  c.what = "text is UTF-16: convert the file to UTF-8";
  c.size = unknown_size;  // the rest of the file
  return c;
}

}  // namespace

csv_framing::csv_framing(const options& o, std::string_view path) : options_(o) {
  if (o.max_record_size == 0) {
    throw failure(errc::invalid_argument,
                  std::string(path) + ": max_record_size is 0, must be 1 or more");
  }
  if (is_csv_delimiter(o.delimiter)) return;
  throw failure(
      errc::invalid_argument,
      std::string(path) + ": csv_reader_options::delimiter must not be a quote or a line end");
}

decompressed_stream_options csv_framing::stream(const file_status&) const noexcept {
  return {.read = options_.read,
          .compression = options_.compression,
          .decompression = options_.decompression};
}

framing_result csv_framing::find(const framing_input& input, std::vector<view>& records) const {
  const std::string_view text = as_text(input.bytes);
  const bool is_last = input.left == text.size();
  const csv_record_splitter splitter({.delimiter = options_.delimiter,
                                      .quotes = options_.quotes,
                                      .skip_blank_lines = options_.skip_blank_lines,
                                      .max_size = options_.max_record_size});
  framing_result result;
  if (input.offset == 0 && is_utf16(text)) {
    result.fault = not_utf8();
    return result;
  }
  if (input.offset == 0 && !is_last && text.size() < utf8_mark.size() &&
      utf8_mark.starts_with(text)) {  // the mark may belong to no record
    result.state = search_again;
    return result;
  }
  std::size_t at = input.offset == 0 && text.starts_with(utf8_mark) ? utf8_mark.size() : 0;
  csv_record_splitter::input in{.text = {}, .is_last = is_last};
  // The record was incomplete in the last call, which has searched these bytes and stored its
  // state.
  if (input.searched > at && input.state != search_again) {
    in.searched = input.searched - at;
    in.at_searched = static_cast<splitter_state>(input.state);
  }
  const auto to_skip = [&] {
    const std::uint64_t before = input.index + result.left_out;
    return options_.skip_header_records > before ? options_.skip_header_records - before : 0;
  };
  for (;;) {
    in.text = text.substr(at);
    const csv_record_splitter::result found = splitter.split(in, records);
    at += found.consumed;
    result.state = static_cast<std::uint8_t>(found.rest);
    if (found.is_too_long) {
      result.fault = too_long(text.substr(at));
    } else if (found.fault && records.size() >= to_skip()) {
      result.fault = malformed(found);
    } else if (found.fault) {  // a skipped record may have any quotes: it is one line
      const std::size_t line = end_of_line(text.substr(at), is_last);
      if (line > 0 || is_last) {
        at = line > 0 ? at + line : text.size();
        result.left_out += records.size() + 1;
        records.clear();
        in.searched = 0;
        in.at_searched = {};
        continue;
      }
      result.state = search_again;
    }
    break;
  }
  result.consumed = at;
  const auto skipped = static_cast<std::size_t>(std::min<std::uint64_t>(to_skip(), records.size()));
  result.left_out += skipped;
  records.erase(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(skipped));
  return result;
}

record_corruption csv_framing::too_long(std::string_view record) const {
  const std::string_view seen = record.substr(0, options_.max_record_size + 1);
  record_corruption c;
  c.reason = errc::resource_exhausted;
  c.what = "record is larger than the limit max_record_size of " +
           std::to_string(options_.max_record_size) + " bytes";
  if (options_.quotes && seen.find('"') != std::string_view::npos)
    c.what += ": check for a field without its closing quote";
  return c;
}

// The next record begins at the first line that is not blank.
std::optional<std::size_t> csv_framing::search(byte_view bytes) noexcept {
  const std::string_view text = as_text(bytes);
  const std::size_t end = text.find_first_of("\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  const std::size_t begin = text.find_first_not_of("\r\n", end);
  if (begin == std::string_view::npos) return std::nullopt;
  return begin;
}

std::string csv_framing::position_text(std::uint64_t index) {
  return "record " + std::to_string(index);
}

std::string csv_framing::key(const record_position& p) {
  return std::string(p.path) + ":" + std::to_string(p.index);
}

}  // namespace detail

template class basic_record_reader<detail::csv_framing>;

}  // namespace LEAT
