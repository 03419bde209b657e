#pragma once

#include <chrono>
#include <string>

#include "leat/coordination/queue_runner.hpp"

namespace leat::detail {

/// How long a reader waits by default for a producer that was never started before it reports it.
inline constexpr std::chrono::seconds patience_for_start(60);

/// The entry of a producer in the list of all producers of the process. Errors of waits use the
/// list to name producers that were never started. Thread safety: thread-safe.
class producer_list_entry {
 public:
  /// The producer's runner, and the queue that it fills; both outlive this.
  producer_list_entry(const queue_runner& runner, const queue_base& queue) noexcept;
  ~producer_list_entry();
  producer_list_entry(const producer_list_entry&) = delete;
  producer_list_entry& operator=(const producer_list_entry&) = delete;

 private:
  friend std::string unstarted_producers_text();
  friend std::string unstarted_producer_text(const queue_base& queue);
  friend bool waits_for_unstarted_producer();

  const queue_runner& runner_;
  const queue_base& queue_;
  producer_list_entry* next_ = nullptr;
};

/// "; call start(coordinator) of producer 'names', 'rows'"; empty if all were started.
[[nodiscard]] std::string unstarted_producers_text();

/// Returns "producer 'names' was never started: call its start(coordinator)". Returns an empty
/// string if the queue has no producer, another producer that fills it, or one that was started.
[[nodiscard]] std::string unstarted_producer_text(const queue_base& queue);

/// True if an operation waits for an item of a producer that was never started and whose queue
/// never had one.
[[nodiscard]] bool waits_for_unstarted_producer();

}  // namespace leat::detail
