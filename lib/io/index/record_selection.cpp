#include "leat/io/index/record_selection.hpp"

#include <cstddef>

#include "leat/base/internal/assert.hpp"

namespace LEAT {

record_selection record_selection::slice(std::size_t first, std::size_t count) const {
  LEAT_ASSERT(first <= size() && count <= size() - first,
              "record_selection::slice() after the end of the selection");
  record_selection part;
  const auto of = [&](const auto& all) { return all.begin() + static_cast<std::ptrdiff_t>(first); };
  const auto n = static_cast<std::ptrdiff_t>(count);
  part.records_.assign(of(records_), of(records_) + n);
  part.entries_.assign(of(entries_), of(entries_) + n);
  part.memory_ = memory_;
  part.paths_ = paths_;
  return part;
}

}  // namespace LEAT
