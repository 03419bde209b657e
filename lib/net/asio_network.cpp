#include "net/asio_network.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "leat/async/as_tuple.hpp"
#include "leat/async/loop/internal/asio_context.hpp"
#include "leat/async/loop/internal/event_loop_scheduler.hpp"
#include "leat/async/loop/use_task.hpp"
#include "leat/async/sleep.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/descriptor.hpp"
#include "net/asio_acceptor.hpp"
#include "net/asio_stream.hpp"
#include "net/name_lookup.hpp"
#include "net/socket_address.hpp"

namespace LEAT {

const service_key network_backend::key;

network_backend& get_network_backend(scheduler& s) {
  if (auto* const network = s.find_service<network_backend>()) return *network;
  static_cast<void>(detail::asio_context_of(s));  // checks that it has one
  auto* const loop = dynamic_cast<detail::event_loop_scheduler*>(&s);
  if (!loop) {
    throw failure(errc::failed_precondition,
                  "scheduler has no network: pass one to its set_service()");
  }
  loop->own_service<[](network_backend&, scheduler&) noexcept {}>(
      std::shared_ptr<network_backend>(std::make_shared<detail::asio_network>(s)));
  return *s.find_service<network_backend>();
}

}  // namespace LEAT

namespace LEAT::detail {

using namespace std::chrono_literals;

namespace {

// A Unix socket connects at once, or refuses if the backlog is full, where TCP would wait.
task<> connect_unix(int socket, const endpoint& to, const socket_address& address) {
  ::fcntl(socket, F_SETFL, O_NONBLOCK);
  for (duration pause = 1ms;; pause = std::min<duration>(2 * pause, 100ms)) {
    if (::connect(socket, &address.base, address.size) == 0) co_return;
    if (errno != EAGAIN) throw failure(last_error(), "connect to " + to.text());
    co_await sleep_for(pause);
  }
}

}  // namespace

task<std::unique_ptr<network_stream>> asio_network::connect(endpoint to,
                                                            connection_options options) {
  const socket_address address(to);
  auto stream = std::make_unique<asio_stream>();
  descriptor made(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  stream->take(made, address);
  if (const auto ec = stream->apply(options)) {
    throw failure(ec, "connect to " + to.text() + ": its connection_options");
  }
  if (to.is_unix()) co_await connect_unix(stream->number_of_socket(), to, address);
  stream->attach(scheduler_);
  if (to.is_unix()) co_return stream;
  const asio::generic::stream_protocol::endpoint target(&address.base, address.size);
  const auto connected = co_await as_tuple(stream->asio_socket()->async_connect(target, use_task));
  if (connected.error) throw failure(connected.error, "connect to " + to.text());
  co_return stream;
}

task<std::vector<endpoint>> asio_network::resolve(endpoint name) {
  co_return co_await look_up(std::move(name));
}

std::unique_ptr<network_acceptor> asio_network::listen(const endpoint& at,
                                                       const listen_options& options) {
  return std::make_unique<asio_acceptor>(scheduler_, at, options);
}

}  // namespace LEAT::detail
