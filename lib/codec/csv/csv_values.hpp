#pragma once

#include <cstddef>
#include <string_view>

#include "codec/csv/csv_block.hpp"
#include "codec/string_column.hpp"
#include "codec/text/parse_number.hpp"
#include "leat/tensor/tensor.hpp"

namespace leat::detail {

/// The values of one column of comma-separated values, to which the fields of one record after the
/// other are added.
class csv_values {
 public:
  /// `default_value`: of a missing field, or of no value; it outlives this. `na_value`: the text of
  /// a field that is missing too; likewise.
  csv_values(const tensor& default_value, std::string_view na_value, const shape& s);

  [[nodiscard]] dtype type() const noexcept { return type_; }

  [[nodiscard]] bool is_missing(std::string_view text) const noexcept {
    return text.empty() || (!na_value_.empty() && text == na_value_);
  }

  /// False: there is none.
  bool add_default();
  /// A text that is not missing.
  parsed add(std::string_view text);

  /// Those of all records of a plain block. False, and nothing is added: one of them is wrong.
  bool add_all(const csv_block& block, std::size_t field);
  /// Takes the last ones away.
  void drop_last(std::size_t count) noexcept;

  [[nodiscard]] tensor take(const shape& s) {
    return type_ == dtype::string ? strings_.take(s) : std::move(numbers_);
  }

 private:
  template <class T>
  [[nodiscard]] bool add_numbers(const csv_block& block, std::size_t field) noexcept;
  // Those of some records, one by one. `readable`: from here on 16 bytes before an end can be read.
  // Not in line: it would take the registers of the loop over four at a time.
  template <class T>
  [[nodiscard, gnu::noinline]] bool put_numbers(std::byte* slot, const csv_fields& fields,
                                                const char* readable, std::size_t first,
                                                std::size_t last) const noexcept;
  // Any text; false: it is wrong. Not in line: it would take the registers of the loop.
  template <class T>
  [[nodiscard, gnu::noinline]] bool put_number(std::byte* slot,
                                               std::string_view text) const noexcept;
  [[nodiscard]] bool add_strings(const csv_block& block, std::size_t field);

  const tensor* default_;
  std::string_view na_value_;
  std::size_t size_of_plain_na_ = 0;  // of one that could be taken for a number
  dtype type_;
  tensor numbers_;
  std::byte* next_slot_ = nullptr;  // of the next number
  std::size_t size_ = 0;            // of one
  string_column strings_;
};

}  // namespace leat::detail
