#pragma once

#include <cstddef>
#include <string_view>

#include "codec/csv/csv_block.hpp"
#include "codec/string_column.hpp"
#include "codec/text/parse_number.hpp"
#include "leat/tensor/tensor.hpp"

namespace LEAT::detail {

/// The values of one column of comma-separated values. The fields are added record by record.
class csv_values {
 public:
  /// `default_value`: the value of a missing field, or empty; must outlive this object. `na_value`:
  /// a text that also means a missing field; must outlive this object too.
  csv_values(const tensor& default_value, std::string_view na_value, const shape& s);

  [[nodiscard]] dtype type() const noexcept { return type_; }

  [[nodiscard]] bool is_missing(std::string_view text) const noexcept {
    return text.empty() || (!na_value_.empty() && text == na_value_);
  }

  /// Adds the default. Returns false if there is none.
  bool add_default();
  /// Adds a text that is not missing.
  parsed add(std::string_view text);

  /// Adds the fields of all records of a plain block. Returns false and adds nothing if a field is
  /// invalid.
  bool add_all(const csv_block& block, std::size_t field);
  /// Removes the last values.
  void drop_last(std::size_t count) noexcept;

  [[nodiscard]] tensor take(const shape& s) {
    return type_ == dtype::string ? strings_.take(s) : std::move(numbers_);
  }

 private:
  template <class T>
  [[nodiscard]] bool add_numbers(const csv_block& block, std::size_t field) noexcept;
  // Adds some records one by one. `readable`: from here on, 16 bytes before an end can be read. Not
  // inlined, because it would take registers of the loop over four numbers at a time.
  template <class T>
  [[nodiscard, gnu::noinline]] bool put_numbers(std::byte* slot, const csv_fields& fields,
                                                const char* readable, std::size_t first,
                                                std::size_t last) const noexcept;
  // Adds any text; returns false if it is invalid. Not inlined, to keep registers for the loop.
  template <class T>
  [[nodiscard, gnu::noinline]] bool put_number(std::byte* slot,
                                               std::string_view text) const noexcept;
  [[nodiscard]] bool add_strings(const csv_block& block, std::size_t field);

  const tensor* default_;
  std::string_view na_value_;
  std::size_t size_of_plain_na_ = 0;  // of a text that could be a number
  dtype type_;
  tensor numbers_;
  std::byte* next_slot_ = nullptr;  // of the next number
  std::size_t size_ = 0;            // of one
  string_column strings_;
};

}  // namespace LEAT::detail
