#include "net/asio_stream.hpp"

#include <array>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "leat/async/loop/internal/asio_context.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/base/internal/frame_allocator.hpp"

namespace LEAT::detail {
namespace {

std::string_view state_text(unsigned state) noexcept {
  switch (state) {
    case TCP_ESTABLISHED: return "established";
    case TCP_SYN_SENT: return "syn-sent";
    case TCP_SYN_RECV: return "syn-recv";
    case TCP_FIN_WAIT1: return "fin-wait-1";
    case TCP_FIN_WAIT2: return "fin-wait-2";
    case TCP_TIME_WAIT: return "time-wait";
    case TCP_CLOSE: return "closed";
    case TCP_CLOSE_WAIT: return "close-wait";
    case TCP_LAST_ACK: return "last-ack";
    case TCP_LISTEN: return "listening";
    case TCP_CLOSING: return "closing";
    default: return "unknown";
  }
}

int as_int(std::chrono::nanoseconds n, std::chrono::nanoseconds unit) noexcept {
  const auto count = (n + unit - std::chrono::nanoseconds(1)) / unit;
  return count > 1'000'000'000 ? 1'000'000'000 : static_cast<int>(count);
}

}  // namespace

asio_stream::~asio_stream() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void* asio_stream::operator new(std::size_t size) { return allocate_frame(size); }
void asio_stream::operator delete(void* p, std::size_t size) noexcept { free_frame(p, size); }

void asio_stream::keep_peer(const socket_address& a) noexcept {
  if (a.family() == AF_INET) peer_.v4 = a.v4;
  if (a.family() == AF_INET6) peer_.v6 = a.v6;
}

void asio_stream::check_adopted() {
  const auto refuse = [this](const std::string& why) {
    throw failure(errc::invalid_argument,
                  "descriptor " + std::to_string(descriptor_) + " adopted as a connection: " + why);
  };
  int type = 0;
  int listens = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(descriptor_, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
    refuse(last_error().message());
  }
  if (type != SOCK_STREAM) refuse("it is not a stream socket");
  size = sizeof listens;
  ::getsockopt(descriptor_, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size);
  if (listens != 0) refuse("it listens: pass it to listener::adopt()");
  socket_address peer;
  if (::getpeername(descriptor_, &peer.base, &peer.size) == 0) keep_peer(peer);
  ::fcntl(descriptor_, F_SETFD, FD_CLOEXEC);
}

asio_error_code asio_stream::apply(const connection_options& o) noexcept {
  const bool is_tcp = peer_.base.sa_family != AF_UNSPEC;
  asio_error_code error;
  const auto set = [&](int level, int name, int value) {
    const auto ec = set_option(level, name, &value, sizeof value);
    if (ec && !error) error = ec;
  };
  if (o.send_buffer > 0) set(SOL_SOCKET, SO_SNDBUF, static_cast<int>(o.send_buffer / 2));
  if (o.receive_buffer > 0) set(SOL_SOCKET, SO_RCVBUF, static_cast<int>(o.receive_buffer / 2));
  if (!is_tcp) return error;
  if (o.no_delay) set(IPPROTO_TCP, TCP_NODELAY, 1);
  if (o.keep_alive_probes) {
    using std::chrono::seconds;
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, as_int(o.keep_alive_probes->idle, seconds(1)));
    set(IPPROTO_TCP, TCP_KEEPINTVL, as_int(o.keep_alive_probes->interval, seconds(1)));
    set(IPPROTO_TCP, TCP_KEEPCNT, o.keep_alive_probes->probes);
  }
  if (o.user_timeout > duration::zero()) {
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, as_int(o.user_timeout, std::chrono::milliseconds(1)));
  }
  return error;
}

int asio_stream::descriptor() const noexcept {
  if (!socket_) return descriptor_;
  // native_handle() is not const, and changes nothing.
  return const_cast<asio_stream*>(this)->socket_->native_handle();
}

void asio_stream::attach(scheduler& on) {
  if (scheduler_ == &on) return;
  static_cast<void>(asio_context_of(on));
  if (socket_) {
    asio_error_code ec;
    const int released = socket_->release(ec);
    LEAT_ASSERT(!ec, "connection moved to another scheduler while an operation is pending");
    asio_socket_ = nullptr;
    socket_.reset();
    descriptor_ = released;
  }
  int family = 0;
  socklen_t size = sizeof family;
  if (::getsockopt(descriptor_, SOL_SOCKET, SO_DOMAIN, &family, &size) != 0) {
    throw failure(last_error(), "connection: the domain of its socket");
  }
  const scheduler_executor executor(on);
  socket_.emplace(executor);
  asio_error_code ec;
  socket_->assign(asio::generic::stream_protocol(family, 0), descriptor_, ec);
  if (ec) {
    socket_.reset();
    scheduler_ = nullptr;
    throw failure(ec, "connection: its socket cannot be watched");
  }
  descriptor_ = -1;
  scheduler_ = &on;
  asio_socket_ = &*socket_;
}

void asio_stream::start(network_transfer&) noexcept {}  // Asio's socket performs all transfers
void asio_stream::cancel(network_transfer&) noexcept {}

void asio_stream::cancel_all() noexcept {
  asio_error_code ignored;
  if (socket_) socket_->cancel(ignored);
}

asio_error_code asio_stream::shutdown_send() noexcept {
  if (::shutdown(descriptor(), SHUT_WR) != 0) return last_error();
  return {};
}

void asio_stream::close(bool resets) noexcept {
  if (resets) {
    const linger at_once{1, 0};
    static_cast<void>(set_option(SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once));
  }
  asio_error_code ignored;
  if (socket_) {
    socket_->close(ignored);
  } else if (descriptor_ >= 0) {
    ::close(std::exchange(descriptor_, -1));
  }
}

endpoint asio_stream::peer() const {
  socket_address a;
  if (peer_.base.sa_family == AF_INET) {
    a.v4 = peer_.v4;
  } else if (peer_.base.sa_family == AF_INET6) {
    a.v6 = peer_.v6;
  } else if (::getpeername(descriptor(), &a.base, &a.size) != 0) {
    return {};
  }
  return a.to_endpoint();
}

endpoint asio_stream::local() const {
  socket_address a;
  if (::getsockname(descriptor(), &a.base, &a.size) != 0) return {};
  return a.to_endpoint();
}

connection_status asio_stream::status() const noexcept {
  connection_status s;
  const int d = descriptor();
  if (d < 0) return s;
  int bytes = 0;
  if (::ioctl(d, SIOCINQ, &bytes) == 0) s.unread = static_cast<std::size_t>(bytes);
  if (::ioctl(d, SIOCOUTQ, &bytes) == 0) s.unsent = static_cast<std::size_t>(bytes);
  s.state = "established";
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(d, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return s;
  s.state = state_text(info.tcpi_state);
  s.round_trip = std::chrono::microseconds(info.tcpi_rtt);
  s.retransmissions = info.tcpi_total_retrans;
  s.last_received = std::chrono::milliseconds(info.tcpi_last_data_recv);
  return s;
}

asio_error_code asio_stream::set_option(int level, int name, const void* value,
                                        std::size_t size) noexcept {
  if (::setsockopt(descriptor(), level, name, value, static_cast<socklen_t>(size)) != 0) {
    return last_error();
  }
  return {};
}

asio_error_code asio_stream::get_option(int level, int name, void* value,
                                        std::size_t& size) const noexcept {
  auto length = static_cast<socklen_t>(size);
  if (::getsockopt(descriptor(), level, name, value, &length) != 0) return last_error();
  size = length;
  return {};
}

bool asio_stream::try_read(std::span<const transfer_buffer> buffers, std::size_t& bytes,
                           asio_error_code& error) noexcept {
  std::array<iovec, network_transfer::max_buffers> parts{};
  std::size_t size = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    parts[i] = {buffers[i].data, buffers[i].size};
    size += buffers[i].size;
  }
  bytes = 0;
  error = {};
  if (size == 0) return true;
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = buffers.size();
  ssize_t n = 0;
  do {
    n = ::recvmsg(descriptor(), &message, MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  if (n > 0) {
    bytes = static_cast<std::size_t>(n);
  } else if (n == 0) {
    error = asio::error::eof;
  } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
    return false;
  } else {
    error = to_asio_error(last_error());
  }
  return true;
}

}  // namespace LEAT::detail
