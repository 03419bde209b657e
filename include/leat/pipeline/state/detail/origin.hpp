#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "leat/base/random.hpp"

namespace LEAT::detail {

/// The origin of an element: the record of the source, and which of its results the element is. A
/// restore uses it to produce the element again. After batch(), an origin names a batch instead of
/// a record: the index is the number of the batch.
struct origin {
  std::uint32_t file = 0;    ///< index in the list of the source
  std::uint64_t offset = 0;  ///< of the record, as record_position has it
  std::uint64_t index = 0;
  std::uint64_t branch = 0;  ///< 0: the only result of the record

  friend auto operator<=>(const origin&, const origin&) = default;

  [[nodiscard]] bool same_record(const origin& o) const noexcept {
    return file == o.file && offset == o.offset && index == o.index;
  }
  /// Returns the origin of the record itself.
  [[nodiscard]] origin record() const noexcept { return {file, offset, index, 0}; }
  /// Returns the origin of the i-th of several results of this element.
  [[nodiscard]] origin child(std::uint64_t i) const noexcept {
    return {file, offset, index, random_engine(branch, i)()};
  }
};

/// Errors: failed_precondition for a record that is not at its position.
[[noreturn]] void throw_record_error(const std::string& path, const origin& record);

}  // namespace LEAT::detail
