#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leat/io/reader/detail/compression_settings.hpp"
#include "leat/io/reader/record_reader.hpp"
#include "leat/io/stream/read_options.hpp"

namespace LEAT {

/// Options of line_reader.
struct line_reader_options {
  std::size_t skip_header_lines = 0;                  ///< lines to skip at the beginning
  std::size_t max_line_size = std::size_t{16} << 20;  ///< bytes; a longer line is an error
  /// The compression of the whole file. If not set, it is detected from the first bytes; see
  /// detect_compression().
  std::optional<leat::compression> compression = {};
  decompression_options decompression = {};  ///< limits for a compressed file
  corruption_options corruption = {};        ///< how corruption is handled
  read_options read = {};                    ///< how the file is read
};

namespace detail {

/// The framing of text files, whose records end with a newline.
class line_framing {
 public:
  using options = line_reader_options;
  using view = std::string_view;
  static constexpr std::string_view name = "line_reader";
  static constexpr bool is_one_record_per_file = false;
  static constexpr std::size_t headroom = std::size_t{16} << 10;
  static constexpr std::size_t frame = 0;
  static constexpr std::size_t overlap = 0;
  static constexpr bool search_finds_end = true;

  template <class Add>
  static void for_each_setting(const options& o, Add& add) {
    add_compression(o, add);
    add("skip_header_lines", o.skip_header_lines);
    add("max_line_size", o.max_line_size);
    add_compression_limits(o, add);
    add_corruption_settings(o.corruption, add);
  }

  line_framing(const options& o, std::string_view path);

  [[nodiscard]] decompressed_stream_options stream(const file_status& status) const noexcept;
  [[nodiscard]] std::uint64_t first_record() const noexcept { return 0; }
  [[nodiscard]] framing_result find(const framing_input& input, std::vector<view>& lines) const;
  [[nodiscard]] static std::optional<std::size_t> search(byte_view bytes) noexcept;
  [[nodiscard]] static std::string position_text(std::uint64_t index);
  [[nodiscard]] static std::string key(const record_position& p);

 private:
  [[nodiscard]] record_corruption too_long(std::size_t size) const;

  options options_;
};

}  // namespace detail

/// A reader of the lines of a text file; see basic_record_reader.
///
/// A line ends with "\n"; the reader removes it, and one "\r" before it. The last line need not end
/// with "\n". Empty lines are records; an empty file has none. All bytes are data, including NUL.
/// The index of a line counts the skipped lines before it.
///
///     auto reader = co_await leat::line_reader::open("a.txt");
///     leat::line_batch batch;
///     while (co_await reader->read_batch(batch))
///       for (std::string_view line : batch) use(line);
///
/// Cost: about 0.2 ns per byte from the page cache; see docs/results.md.
/// TensorFlow: TextLineReader.
using line_reader = basic_record_reader<detail::line_framing>;
extern template class basic_record_reader<detail::line_framing>;

}  // namespace LEAT
