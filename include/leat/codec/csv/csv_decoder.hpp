#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leat/base/braced.hpp"
#include "leat/base/bytes.hpp"
#include "leat/base/internal/pimpl.hpp"
#include "leat/codec/decode_error.hpp"
#include "leat/tensor/element_spec.hpp"
#include "leat/tensor/tensor.hpp"
#include "leat/tensor/tensor_tuple.hpp"

namespace LEAT {

/// A column of comma-separated values: its type, and the value of missing fields.
struct csv_column {
  /// The type of this tensor is the type of the column: int32, int64, float32, float64 or string. A
  /// scalar, or a vector with one value, is the value of missing fields. A vector without values
  /// makes the field required.
  braced<tensor> default_value = {};
  /// Either all columns have a name, or none has.
  option_string name = {};

  /// Returns a column in which every record must have the field.
  [[nodiscard]] static csv_column required(dtype type, std::string name = {}) {
    return {tensor(type, {0}), std::move(name)};
  }
  /// Returns a column with a value for missing fields, a number or a text.
  template <class T>
  [[nodiscard]] static csv_column optional(const T& value, std::string name = {}) {
    return {tensor::scalar(value), std::move(name)};
  }
};

/// Options of a csv_decoder.
struct csv_options {
  /// The separator between two fields: any byte except a double quote, CR and LF.
  char delimiter = ',';
  /// If true, a field may be enclosed in double quotes. A quoted field may contain delimiters, CR,
  /// LF and doubled quotes. If false, a quote is an ordinary byte.
  bool quotes = true;
  /// A text that also marks a missing field, quoted or not. An empty field is always missing.
  option_string na_value = {};
  /// The indices of the fields that become columns, from 0, in strictly ascending order. If empty,
  /// all fields become columns. Fields after the last index are not read. To select fields by name,
  /// use csv_decoder::for_header().
  option_list<std::size_t> select = {};
};

/// Decodes records of comma-separated values into columns.
///
///     using leat::csv_column;
///     const leat::csv_decoder decoder({csv_column::required(leat::dtype::float32),
///                                      csv_column::optional(std::int64_t{0}),
///                                      csv_column::optional("unknown")});
///     leat::tensor_tuple columns = decoder.decode(lines);  // three tensors of [lines.size()]
///
/// A record is the text of one row without its line end, as csv_reader delivers it. CR and LF
/// before a field are skipped. A field that begins with a quote ends with a quote, which the
/// delimiter or the end of the record follows. Any other field contains no quote, CR or LF. A
/// record that ends with a delimiter ends with an empty field. An empty record has no fields.
///
/// The fields of a column have these forms:
///
/// - Integers: decimal digits, optionally with a minus sign, optionally with spaces around them.
/// - Floats: decimal or, after 0x, hexadecimal numbers, "inf", "infinity" and "nan" in any case,
///   optionally with a sign, optionally with spaces around them. The locale has no effect. A number
///   that is too large becomes infinity. Of the forms of std::strtod, only "nan(...)" is an error.
/// - Strings: all bytes, including spaces.
///
/// Thread safety: thread-safe.
/// TensorFlow: tf.decode_csv. Differs from TensorFlow: a float may have more than 31 bytes, and a
/// float field of spaces is an error.
class csv_decoder {
 public:
  /// Creates a decoder of `columns`.
  ///
  /// Errors: invalid_argument, in these cases:
  ///
  /// - `columns` is empty;
  /// - a default_value of another type, or with more than one value;
  /// - only some columns have names, or two have the same name;
  /// - an invalid delimiter;
  /// - `select` is not in strictly ascending order, or its size differs from that of `columns`.
  explicit csv_decoder(std::vector<csv_column> columns, csv_options options = {});

  /// Creates a decoder that finds its columns by name in the header line of a file, in any order.
  /// The other fields of a record are ignored. A UTF-8 byte order mark and the line end of `header`
  /// are also ignored. Names are compared byte by byte.
  ///
  ///     auto decoder = leat::csv_decoder::for_header(header, {
  ///         csv_column::required(leat::dtype::float32, "price"),
  ///         csv_column::optional("unknown", "city")});
  ///
  /// Errors: invalid_argument, as for the constructor, and in these cases:
  ///
  /// - a column has no name;
  /// - the header does not have a name, and the message lists its names, or has the name twice;
  /// - the header is UTF-16, or its quotes are malformed;
  /// - `options.select` is not empty.
  [[nodiscard]] static csv_decoder for_header(std::string_view header,
                                              std::vector<csv_column> columns,
                                              csv_options options = {});

  /// Returns the names in the header line of a file, as for_header() reads them. An empty header
  /// has no names. `options`: only the delimiter and the quotes have an effect.
  ///
  /// Errors: invalid_argument, if the delimiter is invalid, or the header is UTF-16 or has
  ///         malformed quotes; std::bad_alloc.
  [[nodiscard]] static std::vector<std::string> header_names(std::string_view header,
                                                             const csv_options& options = {});

  csv_decoder(csv_decoder&&) noexcept;
  csv_decoder& operator=(csv_decoder&&) noexcept;
  ~csv_decoder();

  /// Decodes records. Returns one tensor of shape [records.size()] for each column, with the name
  /// of the column.
  ///
  /// Errors: decode_error, for the first record with an error. A required field is missing; a field
  ///         is not a number, out of range or badly quoted; or the numbers of fields and columns
  ///         differ. The message names the record and its field, from 0, counting all fields of the
  ///         record. It also names the column, if it has a name, and the byte of the record, from
  ///         1. Also std::bad_alloc.
  /// Cost:   about 50 instructions for each record and 40 to 60 for each field, if AVX2 is
  ///         available and plain records are contiguous in memory, as the records of a reader are.
  ///         Otherwise about 2 for each byte and 40 to 80 for each field. A few allocations for all
  ///         records together.
  [[nodiscard]] tensor_tuple decode(std::span<const std::string_view> records) const;
  [[nodiscard]] tensor_tuple decode(std::span<const byte_view> records) const;
  /// Overload for a tensor of strings. Each column has the shape of `records`.
  ///
  /// Errors: invalid_argument, if `records` is not a tensor of strings.
  [[nodiscard]] tensor_tuple decode(const tensor& records) const;
  /// Decodes one record. Returns scalars.
  [[nodiscard]] tensor_tuple decode_one(std::string_view record) const;

  /// Returns the spec of a decoded record, for the queue that accepts it.
  [[nodiscard]] const element_spec& spec() const noexcept;

 private:
  struct plan;
  class decode_call;
  explicit csv_decoder(std::unique_ptr<const plan> p) noexcept;

  detail::pimpl<const plan> plan_;
};

}  // namespace LEAT
