#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "leat/base/internal/range_concepts.hpp"
#include "leat/base/internal/thread_mutex.hpp"
#include "leat/pipeline/element/detail/block_bytes.hpp"

namespace LEAT::detail {

/// The memory of the stages of a pipeline, within the limit of pipeline_options::memory_budget.
///
/// It counts two sums of bytes. The first is the memory in use now: a stage runs ahead only while
/// this is below the limit. The second is the minimum that the pipeline needs at any speed:
/// readers, buffers, and one block of each stage that runs ahead. If the minimum exceeds the limit,
/// the pipeline is rejected, or fails, with an error that states the sum.
///
/// Thread safety: thread-safe.
class memory_use {
 public:
  /// `owner`: the start of messages. `limit` 0: no limit, and nothing is counted.
  memory_use(std::size_t limit, std::string owner);

  [[nodiscard]] bool limited() const noexcept { return limit_ > 0; }

  /// Adds bytes to the memory in use; a negative number subtracts.
  void add(std::int64_t bytes) noexcept {
    // relaxed: a stage may see this late, and is one block too fast or too slow
    held_.fetch_add(bytes, std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t held() const noexcept {
    const std::int64_t bytes = held_.load(std::memory_order_relaxed);
    return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
  }
  /// Returns true if as many more bytes fit.
  [[nodiscard]] bool has_space(std::size_t bytes) const noexcept {
    const std::size_t now = held();  // once: others change it meanwhile
    return now <= limit_ && bytes <= limit_ - now;
  }

  /// Declares that a stage needs at least this many bytes from now on; a smaller number than before
  /// has no effect. Errors: resource_exhausted if all stages together need more than the limit; the
  /// message lists their needs, and this one does not count.
  void require(const std::string& stage, std::size_t bytes);

 private:
  struct need {
    std::string stage;
    std::size_t bytes;
  };

  const std::size_t limit_;
  const std::string owner_;
  std::atomic<std::int64_t> held_{0};
  thread_mutex mutex_;
  std::vector<need> needs_ LEAT_GUARDED_BY(mutex_);
};

/// Returns the bytes of `count` elements of a size, or SIZE_MAX if that overflows.
[[nodiscard]] constexpr std::size_t memory_of(std::size_t elements, std::size_t size) noexcept {
  return elements > SIZE_MAX / size ? SIZE_MAX : elements * size;
}

/// Returns the bytes that an element refers to, as far as they are known, including those of nested
/// lists of such elements. Errors: errors of its bytes().
template <class T>
[[nodiscard]] std::size_t indirect_memory(const T& element) {
  std::size_t sum = 0;
  if constexpr (measured<T>) {
    sum = bytes_of(element);
  } else if constexpr (std::ranges::sized_range<const T> && !std::is_trivially_copyable_v<T>) {
    using value = std::ranges::range_value_t<const T>;
    sum = std::ranges::size(element) * sizeof(value);
    if constexpr (!std::is_trivially_copyable_v<value> && !std::same_as<value, T>) {
      for (const value& e : element) sum += indirect_memory(e);
    }
  }
  return sum;
}

/// Returns the memory of a block, as far as it is known: views share the memory of their reader,
/// and an owned batch reserves some more than it holds. Errors: errors of the bytes() of its
/// elements.
template <class Block>
[[nodiscard]] std::size_t memory_of(const Block& block) {
  using value = typename Block::value_type;
  const std::size_t slot_bytes = block.size() * sizeof(value);
  std::size_t bytes = 0;
  if constexpr (measured<value>) {
    bytes = block_bytes(block);
  } else if constexpr (!std::is_trivially_copyable_v<value>) {
    for (const value& element : block) bytes += indirect_memory(element);
  }
  return slot_bytes + bytes + bytes / 8;
}

}  // namespace LEAT::detail
