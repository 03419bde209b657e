#pragma once

// The loops of the workloads task/child, task/fib-25 and task/chain-1000, for any type of
// coroutine.

#include "support/bench.hpp"

namespace bench {

/// The loops. Task: a class template of coroutines that start when they are awaited.
template <template <class> class Task>
struct task_loops {
  static Task<void> add_one(long& sum) {
    ++sum;
    co_return;
  }

  static Task<void> await_children(long count, long& sum) {
    for (long i = 0; i < count; ++i) co_await add_one(sum);
  }

  static Task<long> fib(int n) {
    if (n < 2) co_return n;
    const long first = co_await fib(n - 1);
    co_return first + co_await fib(n - 2);
  }

  /// Computes fib(25) until `count` calls have been made.
  static Task<void> fibs(long count, long& sum) {
    constexpr long calls = 242'785;
    for (long done = 0; done < count; done += calls) {
      const long result = co_await fib(25);
      if (result == 75'025) sum += calls;
    }
  }

  static Task<long> chain(int depth) {
    if (depth == 0) co_return 0;
    co_return 1 + co_await chain(depth - 1);
  }

  /// Awaits chains of 1,000 calls until `count` calls have been made.
  static Task<void> chains(long count, long& sum) {
    for (long done = 0; done < count; done += 1000) {
      const long depth = co_await chain(1000);
      sum += depth;
    }
  }

  /// Returns the loop of the workload, or ends the process if there is none.
  static Task<void> loop(const request& r, long count, long& sum) {
    if (r.workload == "task/child") return await_children(count, sum);
    if (r.workload == "task/fib-25") return fibs(count, sum);
    if (r.workload == "task/chain-1000") return chains(count, sum);
    unknown(r);
  }
};

}  // namespace bench
