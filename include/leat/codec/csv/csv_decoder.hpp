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
#include "leat/base/detail/pimpl.hpp"
#include "leat/codec/decode_error.hpp"
#include "leat/tensor/element_spec.hpp"
#include "leat/tensor/tensor.hpp"
#include "leat/tensor/tensor_tuple.hpp"

namespace leat {

/// A column of comma-separated values: its type, and what a missing field comes to.
struct csv_column {
  /// Its type is the column's: int32, int64, float32, float64 or string. A scalar, or a vector of
  /// one: the value of a missing field. A vector of none: the field must be there.
  tensor default_value;
  /// All columns have one, or none has.
  std::string name = {};

  /// A column whose fields must all be there.
  [[nodiscard]] static csv_column required(dtype type, std::string name = {}) {
    return {tensor(type, {0}), std::move(name)};
  }
  /// A column with a value for missing fields, a number or a text.
  template <class T>
  [[nodiscard]] static csv_column optional(const T& value, std::string name = {}) {
    return {tensor::scalar(value), std::move(name)};
  }
};

/// How the text is read.
struct csv_options {
  /// Between two fields. Any byte but a quote, CR and LF.
  char delimiter = ',';
  /// True: a field may stand between double quotes, and have delimiters, CR, LF and, doubled,
  /// quotes inside. False: a quote is a byte like others.
  bool quotes = true;
  /// A field with this text is missing too, as an empty one always is; with quotes around it too.
  braced<std::string> na_value = {};
  /// The indices of the fields that become columns, from 0, in rising order; empty: all fields.
  /// Fields after the last one are not read. To select by name: csv_decoder::for_header().
  braced<std::vector<std::size_t>> select = {};
};

/// Makes columns of values from records of comma-separated values.
///
///     using leat::csv_column;
///     const leat::csv_decoder decoder({csv_column::required(leat::dtype::float32),
///                                      csv_column::optional(std::int64_t{0}),
///                                      csv_column::optional("unknown")});
///     leat::tensor_tuple columns = decoder.decode(lines);  // three tensors of [lines.size()]
///
/// A record is one line without its line end. Before each field CR and LF are skipped. A field that
/// begins with a quote ends with one, before the delimiter or the end of the record; any other has
/// no quote, CR or LF. A record that ends with a delimiter has an empty field there; an empty
/// record has no field at all.
///
/// Integers: decimal digits, with a minus or without, spaces around them. Floats: as std::strtod
/// has them whatever the locale, spaces around them; infinite when too large. Strings: all bytes,
/// spaces too.
///
/// Thread safety: thread-safe.
/// TensorFlow: tf.decode_csv. Otherwise than there: a float may have more than 31 bytes, and one of
/// spaces is an error.
class csv_decoder {
 public:
  /// Errors: invalid_argument: no column; a default_value of another type or of more than one
  ///         value; columns with and without names, or one name twice; a delimiter that cannot be
  ///         one; `select` not rising, or not as long as `columns`.
  explicit csv_decoder(std::vector<csv_column> columns, csv_options options = {});

  /// Creates a decoder that finds its columns by name in the header line of a file, in any order.
  /// The other fields of a record are ignored. A UTF-8 byte order mark and the line end of `header`
  /// are ignored too; names are compared byte by byte.
  ///
  ///     auto decoder = leat::csv_decoder::for_header(header, {
  ///         csv_column::required(leat::dtype::float32, "price"),
  ///         csv_column::optional("unknown", "city")});
  ///
  /// Errors: invalid_argument, as the constructor; for a column without a name; for a name that the
  ///         header does not have, or has twice (the message lists the names of the header); for a
  ///         header that is badly quoted; and if `options.select` is not empty.
  [[nodiscard]] static csv_decoder for_header(std::string_view header,
                                              std::vector<csv_column> columns,
                                              csv_options options = {});

  csv_decoder(csv_decoder&&) noexcept;
  csv_decoder& operator=(csv_decoder&&) noexcept;
  ~csv_decoder();

  /// One tensor for each column, of shape [records.size()], named as the columns are.
  ///
  /// Errors: decode_error, for the first record that is wrong: a field that is missing though
  ///         required, no number or out of range, badly quoted, or not as many fields as columns.
  ///         It names the record and its field, both from 0 and with all fields of the record
  ///         counted, the column's name if it has one, and the byte of the record, from 1.
  ///         std::bad_alloc.
  /// Cost:   where plain records lie side by side, as those of a reader do, and there is AVX2, some
  ///         50 instructions a record and 40 to 60 a field; else about 2 a byte and 40 to 80 a
  ///         field. Some allocations for all records together.
  [[nodiscard]] tensor_tuple decode(std::span<const std::string_view> records) const;
  [[nodiscard]] tensor_tuple decode(std::span<const byte_view> records) const;
  /// The same of a tensor of strings; each column has its shape.
  /// Errors: invalid_argument for a tensor of another type.
  [[nodiscard]] tensor_tuple decode(const tensor& records) const;
  /// The same of one record: scalars.
  [[nodiscard]] tensor_tuple decode_one(std::string_view record) const;

  /// What a decoded record is: for the queue that takes them.
  [[nodiscard]] const element_spec& spec() const noexcept;

 private:
  struct plan;
  class decode_call;
  explicit csv_decoder(std::unique_ptr<const plan> p) noexcept;

  detail::pimpl<const plan> plan_;
};

}  // namespace leat
