#include "leat/net/listener.hpp"

#include "leat/async/loop/internal/asio_context.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/error.hpp"
#include "leat/net/connect.hpp"
#include "net/adoption.hpp"
#include "net/asio_acceptor.hpp"

namespace LEAT {

listener::listener(scheduler& s, std::unique_ptr<network_acceptor> a)
    : state_(std::make_shared<detail::listener_state>(s, std::move(a))) {}

listener listener::adopt(int descriptor, scheduler* on) {
  detail::adoption adopted(descriptor, on, "listener");
  scheduler& s = adopted.get_scheduler();
  static_cast<void>(detail::asio_context_of(s));
  return {s, std::make_unique<detail::asio_acceptor>(s, adopted.socket())};
}

task<listener> listen(endpoint at, listen_options options) {
  if (!at) throw failure(errc::invalid_argument, "listen at -: the endpoint is empty");
  scheduler& here = this_task::get_scheduler();
  network_backend& network = get_network_backend(here);
  const std::vector<endpoint> addresses = co_await resolve(std::move(at));
  co_return listener(here, network.listen(addresses.front(), options));
}

}  // namespace LEAT
