#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "leat/base/clock.hpp"
#include "leat/base/error.hpp"
#include "leat/coordination/queue_runner.hpp"

namespace LEAT::detail {

/// The default of start_patience: how long a consumer waits for a producer that was never started
/// before it reports it.
inline constexpr std::chrono::seconds default_start_patience(60);

/// A producer that was never started.
struct unstarted_producer {
  duration patience;  ///< of its consumers; the shortest of all producers of the queue
  std::string name;

  /// Returns a deadline_exceeded, `missing` + " for 60 s, producer 'names' was never started: ...".
  [[nodiscard]] failure error(const std::string& missing) const;
};

/// The entry of a producer in the list of all producers of the process. Errors of waits use the
/// list to name producers that were never started. Thread safety: thread-safe.
class producer_list_entry {
 public:
  /// The producer's runner, and the queue that it fills; both outlive this. `patience` is how long
  /// its consumers wait for its start.
  producer_list_entry(const queue_runner& runner, const queue_base& queue,
                      duration patience) noexcept;
  ~producer_list_entry();
  producer_list_entry(const producer_list_entry&) = delete;
  producer_list_entry& operator=(const producer_list_entry&) = delete;

 private:
  friend std::string unstarted_producers_text();
  friend std::optional<unstarted_producer> find_unstarted_producer(const queue_base& queue);
  friend bool waits_for_unstarted_producer();

  const queue_runner& runner_;
  const queue_base& queue_;
  const duration patience_;
  producer_list_entry* next_ = nullptr;
};

/// "; call start(coordinator) of producer 'names', 'rows'"; empty if all were started.
[[nodiscard]] std::string unstarted_producers_text();

/// Returns the producer of a queue if none of its producers was started. Returns nothing if the
/// queue has no producer or one that was started.
[[nodiscard]] std::optional<unstarted_producer> find_unstarted_producer(const queue_base& queue);

/// True if an operation waits for an item of a producer that was never started and whose queue
/// never had one.
[[nodiscard]] bool waits_for_unstarted_producer();

}  // namespace LEAT::detail
