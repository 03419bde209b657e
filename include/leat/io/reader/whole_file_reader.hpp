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

/// Options of whole_file_reader.
struct whole_file_reader_options {
  std::uint64_t max_file_size = std::uint64_t{1} << 30;  ///< bytes; a larger file is an error
  /// The compression of the whole file. If not set, it is detected from the first bytes; see
  /// detect_compression().
  std::optional<leat::compression> compression = {};
  decompression_options decompression = {};  ///< limits for a compressed file
  corruption_options corruption = {};        ///< how corruption is handled
  read_options read = {};                    ///< how the file is read
};

namespace detail {

/// The framing in which all bytes of a file are one record.
class whole_file_framing {
 public:
  using options = whole_file_reader_options;
  using view = byte_view;
  static constexpr std::string_view name = "whole_file_reader";
  static constexpr bool is_one_record_per_file = true;
  static constexpr std::size_t headroom = 0;
  static constexpr std::size_t frame = 0;
  static constexpr std::size_t overlap = 0;
  static constexpr bool search_finds_end = false;

  template <class Add>
  static void for_each_setting(const options& o, Add& add) {
    add_compression(o, add);
    add("max_file_size", o.max_file_size);
    add_compression_limits(o, add);
    add_corruption_settings(o.corruption, add);
  }

  whole_file_framing(const options& o, std::string_view path);

  [[nodiscard]] decompressed_stream_options stream(const file_status& status) const noexcept;
  [[nodiscard]] std::uint64_t first_record() const noexcept { return 0; }
  [[nodiscard]] framing_result find(const framing_input& input, std::vector<view>& records) const;
  [[nodiscard]] static std::optional<std::size_t> search(byte_view) noexcept { return {}; }
  [[nodiscard]] static std::string position_text(std::uint64_t) { return "the whole file"; }
  [[nodiscard]] static std::string key(const record_position& p);

 private:
  options options_;
};

}  // namespace detail

/// A reader that delivers a file as one record; an empty file is an empty record. See
/// basic_record_reader.
///
///     auto reader = co_await leat::whole_file_reader::open("a.jpg");
///     leat::record_batch batch;
///     if (co_await reader->read_batch(batch)) use(batch[0]);
///
/// TensorFlow: WholeFileReader.
using whole_file_reader = basic_record_reader<detail::whole_file_framing>;
extern template class basic_record_reader<detail::whole_file_framing>;

}  // namespace LEAT
