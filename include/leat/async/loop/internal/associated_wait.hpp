#pragma once

#include <cstdint>

#include "leat/async/loop/detail/asio_operation_base.hpp"
#include "leat/base/asio.hpp"

#include LEAT_ASIO(associator.hpp)

namespace LEAT::detail {

/// An associator, like asio::associated_allocator: the operation of a task that a handler of Asio
/// completes, or null if no task waits for it. A handler inside a composed operation of Asio or
/// Boost.Beast has that of the handler that the program has passed.
template <class Handler, class Default = asio_operation_base*>
struct associated_wait {
  using type = asio_operation_base*;  ///< as for every associator

  /// Returns the operation.
  [[nodiscard]] static type get(const Handler& h, const Default& d = {}) noexcept {
    if constexpr (requires { h.get_wait(); }) {
      return h.get_wait();
    } else if constexpr (requires {
                           typename asio::associator<leat::detail::associated_wait, Handler,
                                                     Default>::type;
                         }) {
      return asio::associator<leat::detail::associated_wait, Handler, Default>::get(h, d);
    } else {
      return d;
    }
  }
};

/// Records which stream performs the operation of `handler`, or a part of it, for dumps and
/// messages.
template <class Handler>
[[gnu::always_inline]] inline void record_stream(const Handler& handler, std::uint64_t number) {
  if (asio_operation_base* const wait = associated_wait<Handler>::get(handler)) {
    wait->set_stream(number);
  }
}

/// Sets the function that describes a recorded stream. Thread safety: thread-safe.
inline void set_stream_inspector(asio_operation_base::stream_inspector f) noexcept {
  asio_operation_base::set_stream_inspector(f);
}

}  // namespace LEAT::detail
