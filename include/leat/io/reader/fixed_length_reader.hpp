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

/// Options of fixed_length_reader. Record k is at offset header_size + k * hop_size.
struct fixed_length_reader_options {
  std::size_t record_size = 0;  ///< bytes, at least 1
  std::size_t header_size = 0;  ///< bytes before the first record
  std::size_t footer_size = 0;  ///< bytes at the end, after all records
  std::size_t hop_size = 0;     ///< bytes from one record to the next; if 0, record_size
  /// The compression of the whole file. If not set, it is detected from the first bytes; see
  /// detect_compression().
  std::optional<leat::compression> compression = {};
  decompression_options decompression = {};  ///< limits for a compressed file
  corruption_options corruption = {};        ///< how corruption is handled
  read_options read = {};                    ///< how the file is read
};

namespace detail {

/// The framing of files with records of one size at equal distances.
class fixed_length_framing {
 public:
  using options = fixed_length_reader_options;
  using view = byte_view;
  static constexpr std::string_view name = "fixed_length_reader";
  static constexpr bool is_one_record_per_file = false;
  static constexpr std::size_t headroom = std::size_t{16} << 10;
  static constexpr std::size_t frame = 0;
  static constexpr std::size_t overlap = 0;
  static constexpr bool search_finds_end = false;

  template <class Add>
  static void for_each_setting(const options& o, Add& add) {
    add_compression(o, add);
    add("record_size", o.record_size);
    add("header_size", o.header_size);
    add("footer_size", o.footer_size);
    add("hop_size", o.hop_size);
    add_compression_limits(o, add);
    add_corruption_settings(o.corruption, add);
  }

  fixed_length_framing(const options& o, std::string_view path);

  [[nodiscard]] decompressed_stream_options stream(const file_status& status) const noexcept;
  [[nodiscard]] std::uint64_t first_record() const noexcept { return options_.header_size; }
  [[nodiscard]] framing_result find(const framing_input& input, std::vector<view>& records) const;
  [[nodiscard]] static std::optional<std::size_t> search(byte_view) noexcept { return {}; }
  [[nodiscard]] static std::string position_text(std::uint64_t index);
  [[nodiscard]] static std::string key(const record_position& p);

 private:
  [[nodiscard]] framing_result end(const framing_input& input, std::size_t next,
                                   std::size_t delivered) const;

  options options_;
};

}  // namespace detail

/// A reader of files whose records have one size; see basic_record_reader.
///
/// A record is delivered only if the footer still fits after it. Bytes at the end that are too few
/// for a record are not an error; reader_statistics::left_over counts them. A file that is shorter
/// than its header is corrupt.
///
///     auto reader = co_await leat::fixed_length_reader::open("data.bin", {.record_size = 3073});
///
/// Views of records overlap if hop_size is less than record_size.
///
/// TensorFlow: FixedLengthRecordReader.
using fixed_length_reader = basic_record_reader<detail::fixed_length_framing>;
extern template class basic_record_reader<detail::fixed_length_framing>;

}  // namespace LEAT
