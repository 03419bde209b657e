#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/base/asio.hpp"
#include "leat/net/network_backend.hpp"

#include LEAT_ASIO(associated_allocator.hpp)
#include LEAT_ASIO(associated_cancellation_slot.hpp)
#include LEAT_ASIO(associated_executor.hpp)
#include LEAT_ASIO(associator.hpp)
#include LEAT_ASIO(buffer.hpp)
#include LEAT_ASIO(cancellation_type.hpp)
#include LEAT_ASIO(dispatch.hpp)
#include LEAT_ASIO(error.hpp)
#include LEAT_ASIO(executor_work_guard.hpp)
#include LEAT_ASIO(handler_continuation_hook.hpp)

namespace LEAT::detail {

/// Copies the buffers that are not empty, as many as fit. Returns their number.
template <class Buffers>
std::size_t store_buffers(const Buffers& b,
                          std::array<transfer_buffer, network_transfer::max_buffers>& to) {
  std::size_t count = 0;
  const auto end = asio::buffer_sequence_end(b);
  for (auto i = asio::buffer_sequence_begin(b); i != end && count < to.size(); ++i) {
    const asio::const_buffer part(*i);
    if (part.size() > 0) to[count++] = {const_cast<void*>(part.data()), part.size()};
  }
  return count;
}

/// A transfer with a completion handler, in memory of the handler's allocator.
///
/// It exists until its back end has posted it, or has dropped it. It is delivered on the executor
/// of the handler.
template <class Handler>
class handled_transfer final : public network_transfer {
 public:
  template <class Buffers>
  static void start(network_stream& s, kind k, Handler&& handler, const Buffers& b) {
    handled_transfer* const self = make(s, k, std::move(handler), b);
    self->pending = true;
    auto slot = asio::get_associated_cancellation_slot(self->handler_);
    if (slot.is_connected()) {
      try {
        slot.assign([self](asio::cancellation_type type) {
          if (type != asio::cancellation_type::none && self->pending) self->stream_.cancel(*self);
        });
      } catch (...) {
        static_cast<void>(self->release());
        throw;
      }
    }
    s.start(*self);
  }

  /// Transfers without a wait and posts the result, or returns the handler. The memory comes first:
  /// without it, nothing must have been moved.
  template <class Buffers>
  static std::optional<Handler> start_now(network_stream& s, kind k, Handler&& handler,
                                          const Buffers& b) {
    handled_transfer* const self = make(s, k, std::move(handler), b);
    if (!s.try_transfer(*self)) return self->release();
    s.get_scheduler().post(*self);
    return std::nullopt;
  }

 private:
  using allocator = typename std::allocator_traits<
      asio::associated_allocator_t<Handler>>::template rebind_alloc<handled_transfer>;
  using traits = std::allocator_traits<allocator>;
  using executor = asio::associated_executor_t<Handler, scheduler_executor>;

  template <class Buffers>
  static handled_transfer* make(network_stream& s, kind k, Handler&& handler, const Buffers& b) {
    allocator a(asio::get_associated_allocator(handler));
    handled_transfer* const self = traits::allocate(a, 1);
    ::new (static_cast<void*>(self)) handled_transfer(s, std::move(handler));
    self->what = k;
    self->buffer_count = store_buffers(b, self->buffers);
    return self;
  }

  handled_transfer(network_stream& s, Handler&& h)
      : stream_(s),
        handler_(std::move(h)),
        work_(asio::get_associated_executor(handler_, scheduler_executor(s.get_scheduler()))) {
    run_ = [](work_item& item) noexcept { static_cast<handled_transfer&>(item).deliver(); };
    drop = [](network_transfer& t) noexcept {
      static_cast<void>(static_cast<handled_transfer&>(t).release());
    };
  }
  ~handled_transfer() = default;

  // Frees the memory before the call of the handler, which may need it.
  Handler release() noexcept {
    pending = false;
    auto slot = asio::get_associated_cancellation_slot(handler_);
    if (slot.is_connected()) slot.clear();
    Handler h(std::move(handler_));
    allocator a(asio::get_associated_allocator(h));
    std::destroy_at(this);
    traits::deallocate(a, this, 1);
    return h;
  }

  void deliver() noexcept {
    if (scheduler::current_is_ending()) {
      static_cast<void>(release());
      return;
    }
    const asio_error_code ec = error;
    const std::size_t n = bytes;
    const auto work = std::move(work_);
    Handler h = release();
    asio::dispatch(work.get_executor(),
                   [h = std::move(h), ec, n]() mutable { std::move(h)(ec, n); });
  }

  friend void std::destroy_at<handled_transfer>(handled_transfer*);

  network_stream& stream_;
  Handler handler_;
  asio::executor_work_guard<executor> work_;
};

template <class Handler, class Buffers>
void start_transfer(network_stream& s, network_transfer::kind k, Handler&& handler,
                    const Buffers& b) {
  handled_transfer<std::decay_t<Handler>>::start(s, k, std::forward<Handler>(handler), b);
}

/// A handler that reports the end of the stream as an empty optional.
template <class Handler>
struct end_as_value {
  Handler handler;
  void operator()(const asio_error_code& ec, std::size_t n) {
    using result = std::optional<std::size_t>;
    if (ec == asio::error::eof) {
      std::move(handler)(asio_error_code(), result());
    } else {
      std::move(handler)(ec, result(n));
    }
  }
};

/// The handler of a transfer that Asio performs. Once a transfer has failed, or a read has found
/// the end, Asio would wait for an event of the kernel that does not come.
template <class Handler, network_transfer::kind kind>
struct transfer_handler {
  Handler handler;
  std::uint64_t stream;
  void operator()(const asio_error_code& ec, std::size_t n) {
    if (ec) [[unlikely]]
      network_stream::transfer_has_failed(stream, kind, ec);
    std::move(handler)(ec, n);
  }
};

/// Asks the handler inside whether it continues an operation, for which Asio needs no lock.
template <class Handler, network_transfer::kind kind>
bool asio_handler_is_continuation(transfer_handler<Handler, kind>* h) {
  using asio::asio_handler_is_continuation;
  return asio_handler_is_continuation(std::addressof(h->handler));
}
template <class Handler>
bool asio_handler_is_continuation(end_as_value<Handler>* h) {
  using asio::asio_handler_is_continuation;
  return asio_handler_is_continuation(std::addressof(h->handler));
}

/// Reads from a socket of Asio or writes to it.
template <network_transfer::kind kind, class Handler, class Buffers>
[[gnu::always_inline]] inline void start_on_socket(network_stream& s, stream_socket& socket,
                                                   Handler&& handler, const Buffers& b) {
  using wrapped = transfer_handler<std::decay_t<Handler>, kind>;
  if constexpr (kind == network_transfer::kind::read) {
    socket.async_read_some(b, wrapped{std::forward<Handler>(handler), s.number()});
  } else {
    socket.async_write_some(b, wrapped{std::forward<Handler>(handler), s.number()});
  }
}

/// The same after a transfer has failed: asks the kernel, and waits only if that would block.
template <network_transfer::kind kind, class Handler, class Buffers>
[[gnu::cold, gnu::noinline]] void start_again(network_stream& s, stream_socket& socket,
                                              Handler&& handler, const Buffers& b) {
  using transfer = handled_transfer<std::decay_t<Handler>>;
  auto left = transfer::start_now(s, kind, std::forward<Handler>(handler), b);
  if (!left) return;
  s.ask_no_more(kind);
  start_on_socket<kind>(s, socket, std::move(*left), b);
}

/// A handler without a number of bytes.
template <class Handler>
struct without_bytes {
  Handler handler;
  void operator()(const asio_error_code& ec, std::size_t = 0) { std::move(handler)(ec); }
};

}  // namespace LEAT::detail

// A handler in another one keeps its executor, allocator and cancellation slot.

/// For end_as_value.
template <template <class, class> class Associator, class Handler, class Default>
struct LEAT_NAMESPACE_OF_ASIO::associator<Associator, leat::detail::end_as_value<Handler>, Default>
    : Associator<Handler, Default> {
  /// Asks the handler inside.
  static typename Associator<Handler, Default>::type get(
      const leat::detail::end_as_value<Handler>& h, const Default& d = Default()) noexcept {
    return Associator<Handler, Default>::get(h.handler, d);
  }
};

/// For without_bytes.
template <template <class, class> class Associator, class Handler, class Default>
struct LEAT_NAMESPACE_OF_ASIO::associator<Associator, leat::detail::without_bytes<Handler>, Default>
    : Associator<Handler, Default> {
  /// Asks the handler inside.
  static typename Associator<Handler, Default>::type get(
      const leat::detail::without_bytes<Handler>& h, const Default& d = Default()) noexcept {
    return Associator<Handler, Default>::get(h.handler, d);
  }
};

/// For transfer_handler.
template <template <class, class> class Associator, class Handler,
          leat::network_transfer::kind kind, class Default>
struct LEAT_NAMESPACE_OF_ASIO::associator<Associator, leat::detail::transfer_handler<Handler, kind>,
                                          Default> : Associator<Handler, Default> {
  /// Asks the handler inside.
  static typename Associator<Handler, Default>::type get(
      const leat::detail::transfer_handler<Handler, kind>& h,
      const Default& d = Default()) noexcept {
    return Associator<Handler, Default>::get(h.handler, d);
  }
};
