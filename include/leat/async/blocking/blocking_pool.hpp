#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>

#include "leat/base/braced.hpp"

namespace LEAT {

namespace detail {
class blocking_call;
class blocking_threads;
}  // namespace detail

/// Options of a blocking_pool.
struct blocking_pool_options {
  /// The number of threads that the pool starts at most. Further functions wait for a thread.
  std::size_t threads = 64;
  /// The name of the pool in dumps and of its threads in the system, which shows 15 characters.
  option_string name = {};
};

/// The state of a blocking_pool.
struct blocking_pool_statistics {
  std::size_t threads = 0;  ///< threads that exist
  std::size_t busy = 0;     ///< threads that run a function, or are about to
  std::size_t waiting = 0;  ///< functions that wait for a thread
};

/// Threads on which run_blocking() calls functions.
///
///     leat::blocking_pool decoders({.threads = 8, .name = "decode"});
///     const image picture = co_await leat::run_blocking(decoders, decode);
///
/// The pool starts a thread when a function finds no idle one, up to its limit. A thread that has
/// been idle for ten seconds ends.
///
/// Keep the pool alive until it is no longer passed to run_blocking(). It may be destroyed while
/// functions wait or run: these still complete. Its destructor does not wait for them. In a child
/// of fork(), the pool starts with no thread.
///
/// Thread safety: thread-safe.
class blocking_pool {
 public:
  /// Starts no thread yet. Errors: invalid_argument, if the limit is 0.
  explicit blocking_pool(const blocking_pool_options& options = {});
  /// Creates a pool with default options and a name.
  explicit blocking_pool(std::string_view name);
  blocking_pool(const blocking_pool&) = delete;
  blocking_pool& operator=(const blocking_pool&) = delete;
  ~blocking_pool();

  /// Returns the name, or an empty string.
  [[nodiscard]] const std::string& name() const noexcept { return options_.name; }
  /// Returns the most threads that the pool starts.
  [[nodiscard]] std::size_t limit() const noexcept { return options_.threads; }
  /// Returns the numbers of threads and functions.
  [[nodiscard]] blocking_pool_statistics statistics() const;

 private:
  friend class detail::blocking_call;

  // Errors: std::bad_alloc.
  [[nodiscard]] detail::blocking_threads& threads();

  const blocking_pool_options options_;
  std::atomic<detail::blocking_threads*> threads_{nullptr};  // of this process or its parent
};

/// Returns the pool of run_blocking() without a pool: at most 64 threads. It is never destroyed.
/// Thread safety: thread-safe.
[[nodiscard]] blocking_pool& default_blocking_pool();

}  // namespace LEAT
