#pragma once

#include <atomic>
#include <source_location>
#include <type_traits>

// The headers of Relacy without <relacy/relacy.hpp>, which defines macros for new, free and other
// names. The order matters.
// clang-format off
#include <relacy/base.hpp>
#include <relacy/context.hpp>
#include <relacy/context_base_impl.hpp>
#include <relacy/atomic_fence.hpp>
#include <relacy/atomic.hpp>
#include <relacy/var.hpp>
#include <relacy/test_suite.hpp>
#include <relacy/stdlib/mutex.hpp>
#include <relacy/stdlib/condition_variable.hpp>
#include <relacy/stdlib/semaphore.hpp>
#include <relacy/stdlib/event.hpp>
// clang-format on
#undef $

namespace model {

/// A position in the tested source, for the history of a failing run.
using place = std::source_location;

inline rl::debug_info info(const place& at) noexcept {
  return {at.function_name(), at.file_name(), at.line()};
}

inline rl::memory_order order(std::memory_order o) noexcept {
  switch (o) {
    case std::memory_order_relaxed: return rl::mo_relaxed;
    case std::memory_order_consume: return rl::mo_consume;
    case std::memory_order_acquire: return rl::mo_acquire;
    case std::memory_order_release: return rl::mo_release;
    case std::memory_order_acq_rel: return rl::mo_acq_rel;
    case std::memory_order_seq_cst: return rl::mo_seq_cst;
  }
  return rl::mo_seq_cst;
}

/// All modelled threads share one OS thread. A point saves the library's thread-local variables
/// while another modelled thread may run.
class point {
 public:
  point() noexcept;
  ~point();
  point(const point&) = delete;
  point& operator=(const point&) = delete;

 private:
  void* const kept_;
};

/// True if Relacy also checks that each operation on an atomic happens before its destruction.
inline bool checks_destruction = false;

/// The part of std::atomic that the library uses, with the memory model of Relacy. A load may
/// return any value that its order allows.
template <class T>
class atomic {
  static constexpr auto seq_cst = std::memory_order_seq_cst;

 public:
  atomic() : atomic(T{}) {}
  atomic(T value) : atomic(value, point()) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;
  ~atomic() {
    if (checks_destruction) alive_(info(place::current())).store(false);
  }

  T load(std::memory_order o = seq_cst, place at = place::current()) const {
    const point here;
    check_alive(at);
    return given(value_.load(order(o), info(at)));
  }
  void store(T value, std::memory_order o = seq_cst, place at = place::current()) {
    const point here;
    check_alive(at);
    value_.store(stored(value), order(o), info(at));
  }
  T exchange(T value, std::memory_order o = seq_cst, place at = place::current()) {
    const point here;
    check_alive(at);
    return given(value_.exchange(stored(value), order(o), info(at)));
  }
  T fetch_add(T d, std::memory_order o = seq_cst, place at = place::current()) {
    const point here;
    check_alive(at);
    return value_.fetch_add(d, order(o), info(at));
  }
  T fetch_sub(T d, std::memory_order o = seq_cst, place at = place::current()) {
    const point here;
    check_alive(at);
    return value_.fetch_sub(d, order(o), info(at));
  }
  T fetch_or(T bits, std::memory_order o = seq_cst, place at = place::current()) {
    const point here;
    check_alive(at);
    return value_.fetch_or(bits, order(o), info(at));
  }
  bool compare_exchange_weak(T& expected, T wanted, std::memory_order success,
                             std::memory_order failure, place at = place::current()) {
    return compare_exchange(rl::bool_t<true>(), expected, wanted, success, failure, at);
  }
  bool compare_exchange_strong(T& expected, T wanted, std::memory_order success,
                               std::memory_order failure, place at = place::current()) {
    return compare_exchange(rl::bool_t<false>(), expected, wanted, success, failure, at);
  }
  bool compare_exchange_strong(T& expected, T wanted, std::memory_order o,
                               place at = place::current()) {
    const auto failure = o == std::memory_order_release   ? std::memory_order_relaxed
                         : o == std::memory_order_acq_rel ? std::memory_order_acquire
                                                          : o;
    return compare_exchange(rl::bool_t<false>(), expected, wanted, o, failure, at);
  }

 private:
  // The initialisation is a store, before which another modelled thread may run.
  atomic(T value, const point&) : value_(stored(value)) {}

  // Relacy does not support pointers to const, so this stores a void*.
  using representation = std::conditional_t<std::is_pointer_v<T>, void*, T>;
  static representation stored(T value) {
    if constexpr (std::is_pointer_v<T>) {
      return const_cast<void*>(static_cast<const void*>(value));
    } else {
      return value;
    }
  }
  static T given(representation value) { return static_cast<T>(value); }
  // Reads what the destructor writes.
  void check_alive(const place& at) const {
    if (checks_destruction) static_cast<void>(alive_(info(at)).load());
  }

  template <bool may_fail_for_no_reason>
  bool compare_exchange(rl::bool_t<may_fail_for_no_reason> weak, T& expected, T wanted,
                        std::memory_order success, std::memory_order failure, place at) {
    const point here;
    check_alive(at);
    representation seen = stored(expected);
    const bool done = value_.compare_exchange(weak, seen, stored(wanted), order(success),
                                              order(failure), info(at));
    if (!done) expected = given(seen);
    return done;
  }

  rl::atomic<representation> value_;
  rl::var<bool> alive_{true};
};

}  // namespace model
