#include "leat/pipeline/detail/held_bytes.hpp"

#include <algorithm>
#include <utility>

#include "leat/core/error.hpp"

namespace leat::detail {

held_bytes::held_bytes(std::size_t limit, std::string owner)
    : limit_(limit), owner_(std::move(owner)) {}

void held_bytes::require(const std::string& stage, std::size_t bytes) {
  if (!limited()) return;
  const lock_guard lock(mutex_);
  const auto same = std::ranges::find(needs_, stage, &need::stage);
  if (same == needs_.end()) {
    needs_.push_back({stage, bytes});
  } else {
    same->bytes = std::max(same->bytes, bytes);
  }
  std::size_t sum = 0;
  std::string parts;
  for (const need& n : needs_) {
    sum += n.bytes;
    parts += (parts.empty() ? "'" : ", '") + n.stage + "' " + std::to_string(n.bytes);
  }
  if (sum <= limit_) return;
  throw failure(errc::resource_exhausted,
                owner_ + ": the memory_budget of " + std::to_string(limit_) +
                    " bytes is too small: so far the stages need " + std::to_string(sum) + " (" +
                    parts + "): give more, or let a buffer, a batch or the readers be smaller");
}

}  // namespace leat::detail
