#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "leat/core/detail/mutex.hpp"
#include "leat/pipeline/detail/run_bytes.hpp"

namespace leat::detail {

/// What the stages of a pipeline hold, within the limit of pipeline_options::memory_budget.
///
/// Two figures. What is held now: a stage that runs ahead does so only while that leaves room. And
/// what has to fit, however slowly all runs: readers, buffers, one run of each stage that runs
/// ahead; where that is more than the limit the pipeline is refused, or ends, with the sum.
///
/// Shared-safe.
class held_bytes {
 public:
  /// `owner`: of messages. 0: no limit, and nothing is counted.
  held_bytes(std::size_t limit, std::string owner);

  [[nodiscard]] bool limited() const noexcept { return limit_ > 0; }

  /// So many bytes come, or go.
  void add(std::int64_t bytes) noexcept {
    // relaxed: a stage may see this late, and is one run too fast or too slow
    held_.fetch_add(bytes, std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t held() const noexcept {
    const std::int64_t bytes = held_.load(std::memory_order_relaxed);
    return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
  }
  /// Whether so many more fit.
  [[nodiscard]] bool has_room(std::size_t bytes) const noexcept {
    const std::size_t now = held();  // once: others change it meanwhile
    return now <= limit_ && bytes <= limit_ - now;
  }

  /// A stage cannot do with less than so many bytes, from now on; less than before is no news.
  /// Errors: resource_exhausted where the limit is below what all of them need, with the list; this
  /// need counts no more then.
  void require(const std::string& stage, std::size_t bytes);

 private:
  struct need {
    std::string stage;
    std::size_t bytes;
  };

  const std::size_t limit_;
  const std::string owner_;
  std::atomic<std::int64_t> held_{0};
  mutex mutex_;
  std::vector<need> needs_ LEAT_GUARDED_BY(mutex_);
};

/// So many elements of a size; SIZE_MAX where it is more.
[[nodiscard]] constexpr std::size_t memory_of(std::size_t elements, std::size_t size) noexcept {
  return elements > SIZE_MAX / size ? SIZE_MAX : elements * size;
}

/// The memory of a run, as far as it is known: views share that of their reader, and rows have room
/// for some more than there are.
template <class Run>
[[nodiscard]] std::size_t memory_of(const Run& run) noexcept {
  using value = typename Run::value_type;
  const std::size_t places = run.size() * sizeof(value);
  if constexpr (measured<value>) {
    const std::size_t bytes = bytes_in(run);
    return places + bytes + bytes / 8;
  } else {
    return places;
  }
}

}  // namespace leat::detail
