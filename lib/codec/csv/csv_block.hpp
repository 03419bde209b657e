#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "codec/text/byte_masks.hpp"

namespace LEAT::detail {

/// The fields of one column of a csv_block, in the order of the records. They live as long as the
/// block's fields.
class csv_fields {
 public:
  /// The positions in the text where the fields begin or end: every `step`th element of `at`, plus
  /// `more` bytes.
  struct bounds {
    const std::uint16_t* at;
    std::size_t step;
    std::size_t more;
  };

  csv_fields(const char* text, bounds begins, bounds ends, bool any_quotes) noexcept
      : begin_text_(text + begins.more),
        end_text_(text + ends.more),
        begins_(begins),
        ends_(ends),
        any_quotes_(any_quotes) {}

  /// Returns the field of a record, without its quotes.
  [[nodiscard]] std::string_view operator[](std::size_t record) const noexcept {
    const char* const begin = begin_text_ + begins_.at[record * begins_.step];
    const char* const end = end_text_ + ends_.at[record * ends_.step];
    if (any_quotes_ && begin != end && *begin == '"') return {begin + 1, end - 1};
    return {begin, end};
  }

  /// Returns the end of the field of a record, after its quotes.
  [[nodiscard]] const char* end_of(std::size_t record) const noexcept {
    return end_text_ + ends_.at[record * ends_.step];
  }

  /// Returns the begins and ends of the fields of four records, with their quotes.
  struct four {
    std::array<const char*, 4> begins;
    std::array<const char*, 4> ends;
  };
  [[nodiscard]] four four_from(std::size_t record) const noexcept {
    const std::uint16_t* const begin = begins_.at + record * begins_.step;
    const std::uint16_t* const end = ends_.at + record * ends_.step;
    return {{begin_text_ + begin[0], begin_text_ + begin[begins_.step],
             begin_text_ + begin[2 * begins_.step], begin_text_ + begin[3 * begins_.step]},
            {end_text_ + end[0], end_text_ + end[ends_.step], end_text_ + end[2 * ends_.step],
             end_text_ + end[3 * ends_.step]}};
  }

 private:
  const char* begin_text_;
  const char* end_text_;
  bounds begins_;
  bounds ends_;
  bool any_quotes_;
};

/// Splits many records of comma-separated values at a time, if they are adjacent in memory, as
/// records of a reader are, and plain. csv_splitter handles other records and reports their errors.
///
/// Records are plain if they have the same number of fields, no line end inside, and no quotes
/// except around complete fields. Without AVX2 no record is plain.
///
/// Thread safety: thread-compatible.
class csv_block {
 public:
  csv_block(char delimiter, bool quotes) noexcept : delimiter_(delimiter), quotes_(quotes) {}

  /// Processes some records from the front of `records` and returns their number, at least one.
  /// They must live as long as the fields are used. Precondition: `records` is not empty. Errors:
  /// std::bad_alloc.
  std::size_t take(std::span<const std::string_view> records);

  // Accessors of the records of the last call.
  [[nodiscard]] bool is_plain() const noexcept { return plain_; }
  [[nodiscard]] std::size_t count() const noexcept { return records_.size(); }
  /// Returns all records: from the first to the end of the last.
  [[nodiscard]] std::string_view text() const noexcept { return text_; }
  /// Returns the number of fields of each record. Precondition: is_plain().
  [[nodiscard]] std::size_t fields() const noexcept { return delimiters_ + 1; }
  /// Precondition: is_plain(), and index < fields().
  [[nodiscard]] csv_fields column(std::size_t index) const noexcept {
    const std::uint16_t* const delimiter = positions_->delimiters.data() + index;
    using bounds = csv_fields::bounds;
    return {text_.data(),
            index == 0 ? bounds{positions_->begins.data(), 1, 0}
                       : bounds{delimiter - 1, delimiters_, 1},
            index == delimiters_ ? bounds{positions_->ends.data(), 1, 0}
                                 : bounds{delimiter, delimiters_, 0},
            any_quotes_};
  }

 private:
  static constexpr std::size_t block_size = 64;
  // Bytes of text in a block: as many as stay in the first-level cache with their columns; one
  // record may be longer.
  static constexpr std::size_t max_text = std::size_t{16} << 10;
  static constexpr std::size_t max_record = std::size_t{32} << 10;
  static constexpr std::size_t max_count = 1024;

  // Positions in the text.
  struct field_positions {
    std::array<std::uint16_t, max_record + block_size> delimiters;
    std::array<std::uint16_t, max_count> begins;  // of the records
    std::array<std::uint16_t, max_count> ends;
  };

  // Marks found in the text.
  struct totals {
    std::size_t delimiters = 0;  // outside quotes
    std::size_t line_ends = 0;
    std::size_t quotes = 0;
  };

  [[nodiscard]] std::size_t count_together(std::span<const std::string_view> records) noexcept;
  [[nodiscard]] bool find_fields();
  [[nodiscard]] bool delimiters_are_even(std::size_t found) noexcept;
  [[nodiscard]] bool quotes_are_around_fields(std::size_t quotes) const noexcept;
#if defined(__x86_64__)
  [[nodiscard]] LEAT_AVX2 totals find_delimiters() noexcept;
#endif

  char delimiter_;
  bool quotes_;
  bool plain_ = false;
  bool any_quotes_ = false;
  std::span<const std::string_view> records_;
  std::string_view text_;
  std::size_t between_ = 0;     // bytes of line ends between the records
  std::size_t delimiters_ = 0;  // of each record
  std::unique_ptr<field_positions> positions_;
};

}  // namespace LEAT::detail
