#include "net/asio_acceptor.hpp"

#include <cerrno>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "leat/async/loop/internal/asio_context.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/frame_allocator.hpp"
#include "net/asio_stream.hpp"
#include "net/socket_address.hpp"

namespace LEAT::detail {
namespace {

[[noreturn]] void fail(const endpoint& at, std::error_code ec) {
  throw failure(ec, "listen at " + at.text());
}

void set(int socket, int level, int name, int value, const endpoint& at) {
  if (::setsockopt(socket, level, name, &value, sizeof value) != 0) fail(at, last_error());
}

bool is_stale(const socket_address& address) {
  const descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
                         "socket");
  return ::connect(probe.get(), &address.base, address.size) != 0 && errno == ECONNREFUSED;
}

void bind_to(int socket, const endpoint& at, const socket_address& address,
             const listen_options& o) {
  if (::bind(socket, &address.base, address.size) == 0) return;
  asio_error_code ec = last_error();
  const bool has_file = at.is_unix() && !at.path().starts_with('@');
  if (ec == asio::error::address_in_use && has_file && o.replace_stale_path && is_stale(address)) {
    ::unlink(std::string(at.path()).c_str());
    if (::bind(socket, &address.base, address.size) == 0) return;
    ec = last_error();
  }
  fail(at, ec);
}

endpoint address_of(int socket) {
  socket_address a;
  if (::getsockname(socket, &a.base, &a.size) != 0) return {};
  return a.to_endpoint();
}

}  // namespace

asio_acceptor::asio_acceptor(scheduler& s, const endpoint& at, const listen_options& o)
    : scheduler_(s), socket_(scheduler_executor(s)), accepted_(o.accepted) {
  socket_address address(at);
  int made = ::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0 && errno == EAFNOSUPPORT && at.is_any()) {  // a kernel without IPv6
    address = socket_address(endpoint("0.0.0.0", at.port()));
    made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  }
  if (made < 0) fail(at, last_error());
  descriptor socket(made, "socket");
  if (o.reuse_address && !at.is_unix()) set(made, SOL_SOCKET, SO_REUSEADDR, 1, at);
  if (o.reuse_port) set(made, SOL_SOCKET, SO_REUSEPORT, 1, at);
  if (address.family() == AF_INET6) {
    set(made, IPPROTO_IPV6, IPV6_V6ONLY, at.is_any() ? 0 : 1, at);
  }
  // Before listen(), so that the window of the first segment fits.
  const connection_options& a = o.accepted;
  if (a.receive_buffer > 0)
    set(made, SOL_SOCKET, SO_RCVBUF, static_cast<int>(a.receive_buffer / 2), at);
  bind_to(made, at, address, o);
  if (::listen(made, o.backlog) != 0) fail(at, last_error());
  local_ = at.is_any() ? endpoint("*", address_of(made).port()) : address_of(made);
  if (at.is_unix() && !at.path().starts_with('@')) {
    path_ = at.path();
    struct stat made_file{};
    ::stat(path_.c_str(), &made_file);
    device_ = made_file.st_dev;
    file_ = made_file.st_ino;
  }
  watch(socket.release());
}

asio_acceptor::asio_acceptor(scheduler& s, int listening)
    : scheduler_(s), socket_(scheduler_executor(s)) {
  descriptor socket(listening, "listener");
  int listens = 0;
  socklen_t size = sizeof listens;
  const bool known = ::getsockopt(listening, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0;
  if (!known || listens == 0) {
    throw failure(errc::invalid_argument,
                  "descriptor " + std::to_string(listening) + " adopted as a listener: " +
                      (known ? "it does not listen" : last_error().message()));
  }
  ::fcntl(listening, F_SETFD, FD_CLOEXEC);
  local_ = address_of(listening);
  watch(socket.release());
}

void asio_acceptor::watch(int listening) {
  const int flags = ::fcntl(listening, F_GETFL);
  ::fcntl(listening, F_SETFL, flags | O_NONBLOCK);
  asio_error_code ec;
  socket_.assign(listening, ec);
  if (!ec) return;
  ::close(listening);
  fail(local_, ec);
}

std::unique_ptr<network_stream> asio_acceptor::accept(asio_error_code& error) {
  socket_address peer;
  for (;;) {
    peer.size = sizeof peer.any;
    const int accepted = ::accept4(number(), &peer.base, &peer.size, SOCK_CLOEXEC);
    if (accepted < 0) {
      error = errno == EAGAIN || errno == EWOULDBLOCK ? asio_error_code() : last_error();
      return nullptr;
    }
    descriptor guard(accepted, "accept");
    auto stream = std::make_unique<asio_stream>(accepted, peer);
    guard.release();
    static_cast<void>(stream->apply(accepted_));  // it may have been reset: its reads say so
    return stream;
  }
}

namespace {

// Posts the item also if the wait was cancelled, but not if the context has destroyed the handler.
struct post_ready {
  using allocator_type = standard_frame_allocator<>;
  using executor_type = scheduler_executor;
  scheduler* on;
  std::shared_ptr<work_item*> target;
  void operator()(const asio_error_code&) const {
    if (*target) on->post(**target);
  }
  [[nodiscard]] executor_type get_executor() const noexcept { return executor_type(*on); }
  [[nodiscard]] static allocator_type get_allocator() noexcept { return {}; }
};

}  // namespace

void asio_acceptor::wait(work_item& ready) {
  *target_ = &ready;
  socket_.async_wait(watched::wait_read, post_ready{&scheduler_, target_});
}

void asio_acceptor::stop_waiting() noexcept {
  asio_error_code ignored;
  socket_.cancel(ignored);
}

void asio_acceptor::close() noexcept {
  if (!socket_.is_open()) return;
  *target_ = nullptr;
  struct stat present{};
  if (!path_.empty() && ::stat(path_.c_str(), &present) == 0 && present.st_dev == device_ &&
      present.st_ino == file_) {
    ::unlink(path_.c_str());
  }
  asio_error_code ignored;
  socket_.close(ignored);
}

std::size_t asio_acceptor::backlog() const noexcept {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(number(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
  return info.tcpi_unacked;  // of a socket that listens
}

}  // namespace LEAT::detail
