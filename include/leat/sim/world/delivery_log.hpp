#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

namespace leat::sim {

/// Keeps the books of what producers hand over and consumers get: nothing lost, nothing twice, and
/// each producer's items in their order.
///
///     book.record_push(producer, id);            // before the push
///     if (!co_await q.push(id)) book.record_rejected(id);
///     ...
///     while (auto id = co_await q.pop()) book.record_pop(consumer, *id);
///     ...
///     book.check_complete(q.size());                // at the end
///
/// Errors: invariant_violation, with a sentence that names item, producer and consumer.
/// Thread safety: thread-bound to the world's thread. Cost: O(1) a call.
class delivery_log {
 public:
  /// Ordered: what one consumer gets of one producer comes in the order in which it was offered.
  /// Say false for a queue that shuffles or sorts.
  explicit delivery_log(std::string name, bool ordered = true)
      : name_(std::move(name)), ordered_(ordered) {}

  /// A producer is about to hand an item over. Ids are unique in the delivery_log.
  void record_push(std::uint64_t producer, std::uint64_t id);

  /// The item was not accepted: nobody may get it.
  void record_rejected(std::uint64_t id);

  /// A consumer got an item.
  void record_pop(std::uint64_t consumer, std::uint64_t id);

  /// All that was offered and not refused has come out, but for `inside` items.
  void check_complete(std::size_t inside = 0) const;

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

}  // namespace leat::sim
