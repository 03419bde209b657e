#pragma once

#include <atomic>
#include <cstdio>
#include <string>

#include "support/bench.hpp"

namespace bench {

/// The order in which the consumer of queue/1000-producers receives items. Each item is the number
/// of its producer.
///
/// The consumer begins after all producers have started. If the queue serves waiting producers in
/// turn, almost every push then waits. Only the results of such queues are comparable.
class producer_order {
 public:
  static constexpr long producers = 1000;

  /// Called by each producer before its first push.
  void start() { ++started_; }
  [[nodiscard]] bool all_started() const { return started_ == producers; }

  /// Called by the consumer for each item.
  void add(long producer) {
    runs_ += producer != last_ ? 1 : 0;
    last_ = producer;
  }

  /// Measures `run(n, order)`, which moves n items of each producer, prints the result, and returns
  /// the exit status of the program.
  ///
  /// in_turn: whether the queue serves waiting producers in turn. If true, fails if the consumer
  /// receives more than two consecutive items of a producer on average. If false, the subject
  /// states it.
  template <class Run>
  static int measure(const request& r, const std::string& subject, bool in_turn, Run run) {
    producer_order order;
    const double nanoseconds = nanoseconds_each(r, [&](long count) {
      order.started_ = 0;
      order.last_ = -1;
      order.runs_ = 0;
      run(count / producers, order);
    });
    const auto items = static_cast<double>(r.items / producers * producers);
    const double mean_run = items / static_cast<double>(order.runs_);
    const bool good = !in_turn || mean_run <= 2;
    std::fprintf(stderr, "%s: %.1f consecutive items of a producer on average%s\n", subject.c_str(),
                 mean_run, good ? "" : ", but the producers must take turns");
    if (!good) return 1;
    return report(r, (subject + (in_turn ? "" : ", not in turn")).c_str(), nanoseconds, "ns/item");
  }

 private:
  std::atomic<long> started_ = 0;
  long last_ = -1;
  long runs_ = 0;
};

}  // namespace bench
