#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "leat/codec/tfrecord/tfrecord.hpp"
#include "leat/io/reader/detail/compression_settings.hpp"
#include "leat/io/reader/detail/range_checksums.hpp"
#include "leat/io/reader/record_reader.hpp"
#include "leat/io/stream/read_options.hpp"

namespace LEAT {

/// Options of tfrecord_reader.
struct tfrecord_reader_options {
  tfrecord_checks checks = tfrecord_checks::all;           ///< which checksums are verified
  std::uint64_t max_record_size = std::uint64_t{1} << 30;  ///< bytes; a larger record is an error
  /// If true, a record that is truncated by the end of the file is skipped, as if the file ended
  /// before it. With corruption_policy::resync it is reported as corruption if an intact record
  /// follows its first byte, which shows that it was torn and others were appended. A truncated
  /// compressed stream ends there too, after the records before the truncation, and is reported to
  /// `corruption` under every policy.
  bool tolerate_truncated_tail = false;
  /// The compression of the whole file. If not set, it is detected from the first bytes.
  std::optional<leat::compression> compression = {};
  decompression_options decompression = {};  ///< limits for a compressed file
  corruption_options corruption = {};        ///< how corruption is handled
  read_options read = {};                    ///< how the file is read
};

namespace detail {

/// The framing of TFRecord files, with a length and checksums for each record; see
/// codec/tfrecord/tfrecord.hpp.
class tfrecord_framing {
 public:
  using options = tfrecord_reader_options;
  using view = byte_view;
  static constexpr std::string_view name = "tfrecord_reader";
  static constexpr bool is_one_record_per_file = false;
  static constexpr std::size_t headroom = std::size_t{128} << 10;
  static constexpr std::size_t frame = tfrecord_header_size;
  static constexpr std::size_t overlap = tfrecord_header_size - 1;
  static constexpr bool search_finds_end = false;
  static constexpr std::size_t record_start_size = tfrecord_header_size;

  template <class Add>
  static void for_each_setting(const options& o, Add& add) {
    add_compression(o, add);
    add("checks", static_cast<std::uint64_t>(o.checks));
    add("max_record_size", o.max_record_size);
    add("tolerate_truncated_tail", o.tolerate_truncated_tail);
    add_compression_limits(o, add);
    add_corruption_settings(o.corruption, add);
  }

  tfrecord_framing(const options& o, std::string_view path);

  [[nodiscard]] decompressed_stream_options stream(const file_status& status) const noexcept;
  [[nodiscard]] std::uint64_t first_record() const noexcept { return 0; }
  [[nodiscard]] framing_result find(const framing_input& input, std::vector<view>& records) const;
  [[nodiscard]] std::optional<std::size_t> search(byte_view bytes) const noexcept {
    return find_tfrecord(bytes, options_.max_record_size);
  }
  [[nodiscard]] std::optional<checksum_mismatch> contradicts(range_checksums& checksums,
                                                             byte_view bytes,
                                                             std::uint64_t offset) const;
  [[nodiscard]] static bool starts_record(byte_view bytes) noexcept;
  [[nodiscard]] bool exceeds_limit(byte_view bytes) const noexcept;
  [[nodiscard]] std::optional<std::uint64_t> declared_size(byte_view bytes,
                                                           std::uint64_t left) const noexcept;
  [[nodiscard]] static task<std::optional<checksum_mismatch>> verify_out_of_band(
      decompressed_stream& stream, range_checksums& checksums, std::uint64_t offset,
      std::uint64_t size, std::source_location where);
  [[nodiscard]] static record_corruption make_corruption(std::uint64_t size,
                                                         const checksum_mismatch& wrong);
  [[nodiscard]] static byte_view leading_record(byte_view bytes) noexcept;
  [[nodiscard]] static std::string position_text(std::uint64_t index);
  [[nodiscard]] static std::string key(const record_position& p);

 private:
  options options_;
};

}  // namespace detail

/// A reader of TFRecord files; see basic_record_reader.
///
///     auto reader = co_await leat::tfrecord_reader::open("a.tfrecord");
///     leat::record_batch batch;
///     while (co_await reader->read_batch(batch))
///       for (leat::byte_view record : batch) use(record);
///
/// A truncated record is an error, even if only part of its header is present. A length that was
/// read determines an allocation only after it has been checked against the contents of the file.
///
/// TensorFlow: TFRecordReader.
using tfrecord_reader = basic_record_reader<detail::tfrecord_framing>;
extern template class basic_record_reader<detail::tfrecord_framing>;

}  // namespace LEAT
