#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "leat/base/flavour.hpp"

namespace LEAT::sim {

/// A record of the items that producers push and consumers pop. It checks that no item is lost or
/// delivered twice, and that the items of each producer arrive in order.
///
///     log.record_push(producer, id);  // before the push
///     if (!co_await q.push(id)) log.record_rejected(id);
///     ...
///     while (auto id = co_await q.pop()) log.record_pop(consumer, *id);
///     ...
///     log.check_complete(q.size());  // at the end
///
/// Errors:        invariant_violation, whose message names the item, the producer and the consumer.
/// Thread safety: thread-bound to the world's thread.
/// Cost:          O(1) per call.
class delivery_log {
 public:
  /// Creates a log. If `ordered` is true, each consumer must receive the items of one producer in
  /// the order of their pushes. Pass false for a queue that shuffles or sorts.
  explicit delivery_log(std::string name, bool ordered = true)
      : name_(std::move(name)), ordered_(ordered) {}

  /// Records that a producer is about to push an item. Ids must be unique in the log.
  void record_push(std::uint64_t producer, std::uint64_t id);

  /// Records that the push of the item was rejected, so no consumer may receive it.
  void record_rejected(std::uint64_t id);

  /// Records that a consumer popped an item.
  void record_pop(std::uint64_t consumer, std::uint64_t id);

  /// Checks that all items that were pushed and not rejected were popped, except `inside` items.
  void check_complete(std::size_t inside = 0) const;

  /// Returns the number of items that were popped.
  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }

 private:
  struct entry {
    std::uint64_t producer;
    std::uint64_t number;  // in the producer's order
    bool taken = false;
  };

  [[noreturn]] void throw_violation(const std::string& sentence) const;
  entry& find(std::uint64_t id, const char* verb);

  const std::string name_;
  const bool ordered_;
  std::unordered_map<std::uint64_t, entry> entries_;
  std::unordered_map<std::uint64_t, std::uint64_t> pushed_by_;  // how many, by producer
  // By producer and consumer: the number after that of the last item that passed between them.
  std::unordered_map<std::uint64_t, std::unordered_map<std::uint64_t, std::uint64_t>> next_;
  std::size_t taken_ = 0;
};

}  // namespace LEAT::sim
