#pragma once

#include <string>

#include "leat/sync/queue_runner.hpp"

namespace leat::detail {

/// A producer among all those of the process: so that who waits in vain can be told which of them
/// were never started. Thread safety: shared-safe.
class known_producer {
 public:
  /// `runner` is the producer's, and outlives this.
  explicit known_producer(const queue_runner& runner) noexcept;
  ~known_producer();
  known_producer(const known_producer&) = delete;
  known_producer& operator=(const known_producer&) = delete;

 private:
  friend std::string producers_not_started();

  const queue_runner& runner_;
  known_producer* next_ = nullptr;
};

/// "; never started: producer 'names', 'rows'"; empty where all were.
[[nodiscard]] std::string producers_not_started();

}  // namespace leat::detail
