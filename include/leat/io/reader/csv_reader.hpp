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

/// Options of csv_reader.
struct csv_reader_options {
  std::size_t skip_header_records = 0;  ///< records to skip at the beginning, such as the header
  /// The separator between two fields: any byte except a double quote, CR and LF. Must equal
  /// csv_options::delimiter.
  char delimiter = ',';
  /// If true, a field in double quotes may contain line ends. If false, a quote is an ordinary byte
  /// and each line is a record. Must equal csv_options::quotes.
  bool quotes = true;
  /// If true, lines without bytes are skipped. If false, each is an empty record; use this for
  /// files of one column in which a blank line is an empty field.
  bool skip_blank_lines = true;
  std::size_t max_record_size = std::size_t{16} << 20;  ///< bytes; a longer record is an error
  /// The compression of the whole file. If not set, it is detected from the first bytes; see
  /// detect_compression().
  std::optional<leat::compression> compression = {};
  decompression_options decompression = {};  ///< limits for a compressed file
  corruption_options corruption = {};        ///< how corruption is handled
  read_options read = {};                    ///< how the file is read
};

namespace detail {

/// The framing of files of comma-separated values.
class csv_framing {
 public:
  using options = csv_reader_options;
  using view = byte_view;
  static constexpr std::string_view name = "csv_reader";
  static constexpr bool is_one_record_per_file = false;
  static constexpr std::size_t headroom = std::size_t{16} << 10;
  static constexpr std::size_t frame = 0;
  static constexpr std::size_t overlap = 1;  // a line end, after which blank lines may follow
  static constexpr bool search_finds_end = true;

  template <class Add>
  static void for_each_setting(const options& o, Add& add) {
    add_compression(o, add);
    add("skip_header_records", o.skip_header_records);
    add("delimiter", static_cast<unsigned char>(o.delimiter));
    add("quotes", o.quotes);
    add("skip_blank_lines", o.skip_blank_lines);
    add("max_record_size", o.max_record_size);
    add_compression_limits(o, add);
    add_corruption_settings(o.corruption, add);
  }

  csv_framing(const options& o, std::string_view path);

  [[nodiscard]] decompressed_stream_options stream(const file_status& status) const noexcept;
  [[nodiscard]] std::uint64_t first_record() const noexcept { return 0; }
  [[nodiscard]] framing_result find(const framing_input& input, std::vector<view>& records) const;
  [[nodiscard]] static std::optional<std::size_t> search(byte_view bytes) noexcept;
  [[nodiscard]] static std::string position_text(std::uint64_t index);
  [[nodiscard]] static std::string key(const record_position& p);

 private:
  [[nodiscard]] record_corruption too_long(std::string_view record) const;

  options options_;
};

}  // namespace detail

/// A reader of the records of a file of comma-separated values; see basic_record_reader. A
/// csv_decoder with the same delimiter and quotes decodes the records.
///
///     auto reader = co_await leat::csv_reader::open("a.csv", {.skip_header_records = 1});
///     leat::record_batch batch;
///     while (co_await reader->read_batch(batch))
///       use(decoder.decode(std::span<const leat::byte_view>(batch)));
///
/// A record is the text of one row, with its quotes and without its line end. The index of a record
/// counts the skipped records before it, but no skipped blank line.
///
/// - A record ends with LF, CR LF or CR, or with the file. Line ends inside quotes belong to it.
/// - A quote may occur only around a field: after the delimiter or at the beginning of the record,
///   and before the delimiter or the end of the record. Quotes inside are doubled.
/// - A UTF-8 byte order mark at the beginning of the file belongs to no record.
/// - All other bytes are data, including NUL.
///
/// A record with any other quote is corrupt, as is one whose quotes the end of the file leaves
/// open. The report names the byte of the record, from 1. After a corrupt record, and after one
/// above max_record_size, the reader continues at the next line, even within quotes, because a
/// missing quote is the usual cause. That line may be a part of the corrupt record.
///
/// A record that is skipped at the beginning may have any quotes: if they are wrong, it is one
/// line. A file in UTF-16 is one corrupt record, with the error unimplemented.
///
/// Cost: about 0.1 ns for each byte and 6 ns for each record and each quote, after the bytes have
///       been read. Each byte is searched once, in corrupt records at most twice.
using csv_reader = basic_record_reader<detail::csv_framing>;
extern template class basic_record_reader<detail::csv_framing>;

}  // namespace LEAT
