#include "leat/pipeline/element/detail/memory_use.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "leat/base/error.hpp"

namespace LEAT::detail {

memory_use::memory_use(std::size_t limit, std::string owner)
    : limit_(limit), owner_(std::move(owner)) {}

void memory_use::require(const std::string& stage, std::size_t bytes) {
  if (!limited()) return;
  const thread_lock lock(mutex_);
  auto same = std::ranges::find(needs_, stage, &need::stage);
  if (same == needs_.end()) same = needs_.insert(same, {stage, 0});
  if (bytes <= same->bytes) return;
  const std::size_t before = std::exchange(same->bytes, bytes);
  std::size_t sum = 0;
  for (const need& n : needs_) sum += std::min(n.bytes, SIZE_MAX - sum);
  if (sum <= limit_) return;
  std::string parts;
  for (const need& n : needs_) {
    if (n.bytes == 0) continue;
    parts += (parts.empty() ? "'" : ", '") + n.stage + "' " + std::to_string(n.bytes);
  }
  same->bytes = before;
  throw failure(errc::resource_exhausted,
                owner_ + ": memory_budget of " + std::to_string(limit_) +
                    " bytes is too small, the stages need at least " + std::to_string(sum) + " (" +
                    parts + "): raise it, or reduce the buffer, the batch size or the readers");
}

}  // namespace LEAT::detail
