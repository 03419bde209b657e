#pragma once

#include <chrono>
#include <string>

#include "leat/coordination/queue_runner.hpp"

namespace leat::detail {

/// How long a reader waits by default for a producer that was never started before it reports it.
inline constexpr std::chrono::seconds patience_for_start(60);

/// A producer among all those of the process: so that who waits in vain can be told which of them
/// were never started. Thread safety: shared-safe.
class known_producer {
 public:
  /// The producer's runner, and the queue that it fills; both outlive this.
  known_producer(const queue_runner& runner, const queue_base& queue) noexcept;
  ~known_producer();
  known_producer(const known_producer&) = delete;
  known_producer& operator=(const known_producer&) = delete;

 private:
  friend std::string producers_not_started();
  friend std::string unstarted_producer_of(const queue_base& queue);
  friend bool waits_for_unstarted_producer();

  const queue_runner& runner_;
  const queue_base& queue_;
  known_producer* next_ = nullptr;
};

/// "; never started: producer 'names', 'rows': call start(coordinator)"; empty where all were.
[[nodiscard]] std::string producers_not_started();

/// "producer 'names' was never started: call its start(coordinator)"; empty if another producer
/// fills that queue, if none does, or if one was started.
[[nodiscard]] std::string unstarted_producer_of(const queue_base& queue);

/// True if an operation waits for an item of a producer that was never started and whose queue
/// never had one.
[[nodiscard]] bool waits_for_unstarted_producer();

}  // namespace leat::detail
