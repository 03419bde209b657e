#pragma once

#include <utility>

#include "leat/base/asio.hpp"
#include "leat/net/network_backend.hpp"

#include LEAT_ASIO(associated_executor.hpp)
#include LEAT_ASIO(associator.hpp)

namespace LEAT::detail {

/// A handler that runs on a scheduler if it has no executor of its own, as handlers of I/O objects
/// do. So it may destroy the connection that it receives.
template <class Handler>
class handler_with_default {
 public:
  using executor_type = asio::associated_executor_t<Handler, scheduler_executor>;

  handler_with_default(Handler&& h, scheduler& on)
      : handler(std::move(h)), default_(scheduler_executor(on)) {}

  [[nodiscard]] executor_type get_executor() const noexcept {
    return asio::get_associated_executor(handler, default_);
  }
  template <class... Results>
  void operator()(Results&&... results) {
    std::move(handler)(std::forward<Results>(results)...);
  }

  Handler handler;

 private:
  scheduler_executor default_;
};

}  // namespace LEAT::detail

/// For handler_with_default.
template <template <class, class> class Associator, class Handler, class Default>
struct LEAT_NAMESPACE_OF_ASIO::associator<Associator, leat::detail::handler_with_default<Handler>,
                                          Default> : Associator<Handler, Default> {
  /// Asks the handler inside.
  static typename Associator<Handler, Default>::type get(
      const leat::detail::handler_with_default<Handler>& h, const Default& d = Default()) noexcept {
    return Associator<Handler, Default>::get(h.handler, d);
  }
};
