#pragma once

#include <atomic>
#include <cstddef>
#include <exception>

#include <catch2/catch.hpp>

#include "leat/async/task.hpp"
#include "leat/base/error.hpp"

namespace leat_test {

/// Counts the allocations of this program, which replaces operator new (see allocation_test.cpp).
extern std::atomic<std::ptrdiff_t> until_failure;  ///< that succeed before; below 0: all do
extern std::atomic<std::ptrdiff_t> failures;       ///< in a row, from that one; set behind it
extern std::atomic<std::ptrdiff_t> alive;
extern std::atomic<std::ptrdiff_t> made;
extern std::atomic<std::ptrdiff_t> alive_bytes;  ///< that were asked for
extern std::atomic<std::ptrdiff_t> most_bytes;   ///< that were alive at a time

/// The result of a run.
enum class end { well, out_of_memory };

template <class Run>
end run_once(Run run, bool& reached) {
  std::exception_ptr error;
  try {
    run();
  } catch (...) {
    error = std::current_exception();
  }
  reached = until_failure.exchange(-1) < 0;
  if (!error) return end::well;
  // Asio translates its own allocation errors to std::bad_alloc too. A code may replace the
  // exception.
  if (leat::to_error_code(error) == leat::errc::resource_exhausted) return end::out_of_memory;
  std::rethrow_exception(error);
}

/// Runs with the n-th allocation failing, from n = 1 until fewer than n allocations are made.
template <class Run>
void fail_each_allocation(Run run) {
  bool reached = false;
  run_once(run, reached);  // creates thread pools, caches, locales
  int failed = 0;
  for (int n = 0;; ++n) {
    INFO("allocation " << n);
    const std::ptrdiff_t before = alive;
    until_failure = n;
    const end e = run_once(run, reached);
    if (e == end::out_of_memory) ++failed;
    CHECK(alive - before <= 64);  // caches may grow, a leak adds up
    if (!reached) {
      REQUIRE(e == end::well);
      break;
    }
    REQUIRE(n < 100'000);
  }
  CHECK(failed > 3);
}

/// Returns the number of allocations of 100 runs of a task, after 10 others.
template <class Run>
leat::task<std::ptrdiff_t> allocations_of(Run run) {
  for (int i = 0; i < 10; ++i) co_await run();
  const std::ptrdiff_t before = made;
  for (int i = 0; i < 100; ++i) co_await run();
  co_return made - before;
}

}  // namespace leat_test
