#pragma once

#include <cstddef>

#include "leat/base/asio.hpp"

#include LEAT_ASIO(signal_set.hpp)

namespace LEAT::detail {

/// For each signal, the number of asio::signal_sets in the process that have it.
///
/// Asio installs its handler when the number of a signal leaves 0, and restores the default action
/// when it returns to 0. A handler of leat that counts as a set is therefore not replaced by a set
/// that is added or destroyed later.
///
/// A set of leat's own would have the same effect, but would need an io_context with five
/// descriptors. Asio would also refuse other sets on an io_context without locks.
///
/// An object excludes changes of the numbers by other threads.
class signal_set_counts {
 public:
  signal_set_counts() noexcept : lock_(state().mutex_) {}

  [[nodiscard]] std::size_t read(int signal) const noexcept { return count(signal); }
  void increment(int signal) noexcept { write(signal, count(signal) + 1); }
  void decrement(int signal) noexcept { write(signal, count(signal) - 1); }

  /// Returns the number without a lock. Async-signal-safe.
  [[nodiscard]] static std::size_t read_in_handler(int signal) noexcept {
    // relaxed: a set whose add() has returned is seen anyway, since a signal that arrives then
    // comes after it.
    return __atomic_load_n(&count(signal), __ATOMIC_RELAXED);
  }

  /// The signal handler that Asio installs.
#if defined(LEAT_ASIO_BOOST)
  static constexpr void (*handler)(int) = &asio::detail::boost_asio_signal_handler;
#else
  static constexpr void (*handler)(int) = &asio::detail::asio_signal_handler;
#endif

 private:
  static asio::detail::signal_state& state() noexcept { return *asio::detail::get_signal_state(); }
  static std::size_t& count(int signal) noexcept {
    return state().registration_count_[static_cast<std::size_t>(signal)];
  }
  static void write(int signal, std::size_t n) noexcept {
    __atomic_store_n(&count(signal), n, __ATOMIC_RELAXED);
  }

  asio::detail::static_mutex::scoped_lock lock_;
};

}  // namespace LEAT::detail
