#include "net/asio_stream.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
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

// Rounded up, between 1 and `most`.
int units(std::chrono::nanoseconds time, std::chrono::nanoseconds unit, int most) noexcept {
  const auto count = time / unit + (time % unit > std::chrono::nanoseconds(0) ? 1 : 0);
  return static_cast<int>(std::clamp<std::int64_t>(count, 1, most));
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

void asio_stream::adopt(descriptor& socket) {
  const int number = socket.get();
  const auto refuse = [number](const std::string& why) {
    throw failure(errc::invalid_argument,
                  "descriptor " + std::to_string(number) + " adopted as a connection: " + why);
  };
  int type = 0;
  int listens = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(number, SOL_SOCKET, SO_TYPE, &type, &size) != 0) refuse(last_error().message());
  if (type != SOCK_STREAM) refuse("it is not a stream socket");
  size = sizeof listens;
  ::getsockopt(number, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size);
  if (listens != 0) refuse("it listens: pass it to listener::adopt()");
  socket_address peer;
  if (::getpeername(number, &peer.base, &peer.size) != 0) peer = {};
  ::fcntl(number, F_SETFD, FD_CLOEXEC);
  take(socket, peer);
}

asio_error_code asio_stream::apply(const connection_options& o) noexcept {
  const bool is_tcp = peer_.base.sa_family != AF_UNSPEC;
  asio_error_code error;
  const auto set = [&](int level, int name, int value) {
    const auto ec = set_option(level, name, &value, sizeof value);
    if (ec && !error) error = ec;
  };
  if (o.send_buffer > 0) set(SOL_SOCKET, SO_SNDBUF, kernel_buffer_size(o.send_buffer));
  if (o.receive_buffer > 0) set(SOL_SOCKET, SO_RCVBUF, kernel_buffer_size(o.receive_buffer));
  if (!is_tcp) return error;
  if (o.no_delay) set(IPPROTO_TCP, TCP_NODELAY, 1);
  if (o.keep_alive_probes) {
    using std::chrono::seconds;
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, units(o.keep_alive_probes->idle, seconds(1), 32767));
    set(IPPROTO_TCP, TCP_KEEPINTVL, units(o.keep_alive_probes->interval, seconds(1), 32767));
    set(IPPROTO_TCP, TCP_KEEPCNT, std::clamp(o.keep_alive_probes->probes, 1, 127));
  }
  if (o.user_timeout > duration::zero()) {
    set(IPPROTO_TCP, TCP_USER_TIMEOUT,
        units(o.user_timeout, std::chrono::milliseconds(1), INT_MAX));
  }
  return error;
}

int asio_stream::number_of_socket() const noexcept {
  if (!socket_) return descriptor_;
  // native_handle() is not const, and changes nothing.
  return const_cast<asio_stream*>(this)->socket_->native_handle();
}

void asio_stream::attach(scheduler& on) {
  if (scheduler_ == &on) return;
  if (!is_open())
    throw failure(asio::error::make_error_code(asio::error::bad_descriptor),
                  "connection moved to another scheduler after close()");
  static_cast<void>(asio_context_of(on));
  int family = 0;
  socklen_t size = sizeof family;
  if (::getsockopt(number_of_socket(), SOL_SOCKET, SO_DOMAIN, &family, &size) != 0) {
    throw failure(last_error(), "connection: the domain of its socket");
  }
  // A socket of another scheduler stays watched there until the new one is ready.
  std::optional<descriptor> duplicate;
  if (socket_) {
    duplicate.emplace(::fcntl(number_of_socket(), F_DUPFD_CLOEXEC, 0), "connection: fcntl");
  }
  stream_socket made{scheduler_executor(on)};
  asio_error_code ec;
  made.assign(asio::generic::stream_protocol(family, 0), duplicate ? duplicate->get() : descriptor_,
              ec);
  if (ec) throw failure(ec, "connection: its socket cannot be watched");
  if (duplicate) {
    duplicate->release();
    asio_error_code ignored;
    socket_->close(ignored);
    socket_.reset();
  }
  descriptor_ = -1;
  socket_.emplace(std::move(made));
  scheduler_ = &on;
  asio_socket_ = &*socket_;
}

// Asio's socket performs all transfers of a stream that is attached.
void asio_stream::start(network_transfer& t) noexcept {
  t.error = asio::error::bad_descriptor;
  get_scheduler().post(t);
}
void asio_stream::cancel(network_transfer&) noexcept {}

void asio_stream::cancel_all() noexcept {
  asio_error_code ignored;
  if (socket_) socket_->cancel(ignored);
}

asio_error_code asio_stream::shutdown_send() noexcept {
  if (::shutdown(number_of_socket(), SHUT_WR) != 0) return last_error();
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
  } else if (::getpeername(number_of_socket(), &a.base, &a.size) != 0) {
    return {};
  }
  return a.to_endpoint();
}

endpoint asio_stream::local() const {
  socket_address a;
  if (::getsockname(number_of_socket(), &a.base, &a.size) != 0) return {};
  return a.to_endpoint();
}

connection_status asio_stream::status() const noexcept {
  connection_status s;
  const int d = number_of_socket();
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
  // With its own option, Asio does not block in the destructor.
  if (level == SOL_SOCKET && name == SO_LINGER && size == sizeof(linger) && socket_) {
    linger wanted{};
    std::memcpy(&wanted, value, sizeof wanted);
    asio_error_code ec;
    socket_->set_option(asio::socket_base::linger(wanted.l_onoff != 0, wanted.l_linger), ec);
    return ec;
  }
  if (::setsockopt(number_of_socket(), level, name, value, static_cast<socklen_t>(size)) != 0) {
    return last_error();
  }
  return {};
}

asio_error_code asio_stream::get_option(int level, int name, void* value,
                                        std::size_t& size) const noexcept {
  auto length = static_cast<socklen_t>(size);
  if (::getsockopt(number_of_socket(), level, name, value, &length) != 0) return last_error();
  size = length;
  return {};
}

bool asio_stream::try_transfer(network_transfer& t) noexcept {
  std::array<iovec, network_transfer::max_buffers> parts{};
  for (std::size_t i = 0; i < t.buffer_count; ++i)
    parts[i] = {t.buffers[i].data, t.buffers[i].size};
  t.bytes = 0;
  t.error = {};
  if (t.buffer_count == 0) return true;
  const bool reads = t.what == network_transfer::kind::read;
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = t.buffer_count;
  ssize_t n = 0;
  do {
    n = reads ? ::recvmsg(number_of_socket(), &message, MSG_DONTWAIT)
              : ::sendmsg(number_of_socket(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
  if (n < 0) t.error = last_error();
  if (n == 0 && reads) t.error = asio::error::eof;
  if (n > 0) t.bytes = static_cast<std::size_t>(n);
  return true;
}

}  // namespace LEAT::detail
