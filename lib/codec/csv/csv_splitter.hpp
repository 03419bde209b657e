#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace leat::detail {

/// Cuts records of comma-separated values into their fields. The grammar is that of csv_decoder.
///
/// Thread safety: thread-compatible.
class csv_splitter {
 public:
  /// `limit`: looks for so many fields at most.
  csv_splitter(char delimiter, bool quotes, std::size_t limit) noexcept
      : delimiter_(delimiter), quotes_(quotes), limit_(limit) {}

  /// The fields, without their quotes; valid as long as the record is, and until the next call.
  ///
  /// `number`: of the record, for errors. Errors: decode_error; std::bad_alloc.
  std::span<const std::string_view> split(std::string_view record, std::size_t number);

  /// At which byte of the record, which was the last, field `index` begins, from 0.
  [[nodiscard]] std::size_t offset_of_field(std::string_view record,
                                            std::size_t index) const noexcept {
    if (!offsets_.empty()) return offsets_[index];
    return static_cast<std::size_t>(fields_[index].data() - record.data());
  }

 private:
  // False: there are quotes or line ends in it, which want a closer look.
  bool split_unquoted(std::string_view record);
  void reserve_fields();  // for the fields of a block, and one
  void add(std::string_view field);
  void split_general(std::string_view record, std::size_t number);
  // Each gives where the field ends that begins at `at`; the quotes of a quoted one included.
  std::size_t plain_field(std::string_view record, std::size_t at, std::size_t number);
  std::size_t quoted_field(std::string_view record, std::size_t at, std::size_t number);
  [[noreturn]] void throw_error(std::size_t number, std::size_t at, const std::string& why) const;

  char delimiter_;
  bool quotes_;
  std::size_t limit_;
  std::vector<std::string_view> fields_;  // the first `count_` of them
  std::size_t count_ = 0;
  std::vector<std::size_t> offsets_;  // of the fields, after a closer look
  std::string unquoted_;              // fields with doubled quotes, without them
};

}  // namespace leat::detail
