#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// Splits records of comma-separated values into fields. The grammar is that of csv_decoder.
///
/// Thread safety: thread-compatible.
class csv_splitter {
 public:
  /// `limit`: the largest number of fields to look for.
  csv_splitter(char delimiter, bool quotes, std::size_t limit) noexcept
      : delimiter_(delimiter), quotes_(quotes), limit_(limit) {}

  /// Returns the fields without their quotes. They are valid until the next call, as long as the
  /// record lives.
  ///
  /// `number`: of the record, for errors. Errors: decode_error; std::bad_alloc.
  std::span<const std::string_view> split(std::string_view record, std::size_t number);

  /// Returns the offset in the last record at which field `index` begins.
  [[nodiscard]] std::size_t offset_of_field(std::string_view record,
                                            std::size_t index) const noexcept {
    if (!offsets_.empty()) return offsets_[index];
    return static_cast<std::size_t>(fields_[index].data() - record.data());
  }

 private:
  // Returns false if the record has quotes or line ends that need a closer look.
  bool split_unquoted(std::string_view record);
  void reserve_fields();  // for the fields of a block, and one more
  void add(std::string_view field);
  void split_general(std::string_view record, std::size_t number);
  // Each returns the end of the field that begins at `at`, after its closing quote.
  std::size_t plain_field(std::string_view record, std::size_t at, std::size_t number);
  std::size_t quoted_field(std::string_view record, std::size_t at, std::size_t number);
  [[noreturn]] void throw_error(std::size_t number, std::size_t at, const std::string& why) const;

  char delimiter_;
  bool quotes_;
  std::size_t limit_;
  std::vector<std::string_view> fields_;  // the first `count_` of them
  std::size_t count_ = 0;
  std::vector<std::size_t> offsets_;  // of the fields, after the closer look
  std::string unquoted_;              // fields with doubled quotes, unquoted
};

}  // namespace LEAT::detail
