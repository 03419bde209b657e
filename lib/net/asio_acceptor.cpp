#include "net/asio_acceptor.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <string>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/internal/fork_generation.hpp"
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

// Programs that replace stale files of one directory do so one after the other: otherwise the
// second one could remove the file that the first has just made. If another program holds the lock
// for long, it is ignored.
class directory_lock {
 public:
  explicit directory_lock(const std::string& path) {
    const auto slash = path.rfind('/');
    const std::string directory = slash == path.npos ? "." : path.substr(0, slash + 1);
    number_ = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 20 && number_ >= 0; ++i) {
      if (::flock(number_, LOCK_EX | LOCK_NB) == 0) return;
      ::usleep(1000);
    }
  }
  directory_lock(const directory_lock&) = delete;
  directory_lock& operator=(const directory_lock&) = delete;
  ~directory_lock() {
    if (number_ >= 0) ::close(number_);
  }

 private:
  int number_ = -1;
};

bool refuses_clients(const socket_address& address) {
  const descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
                         "socket");
  return ::connect(probe.get(), &address.base, address.size) != 0 && errno == ECONNREFUSED;
}

// Removes the file of a socket on which no process listens. Returns true if it is gone.
bool remove_if_stale(const std::string& path, const socket_address& address) {
  const socket_file before(path);
  if (!before || !refuses_clients(address) || socket_file(path) != before) return false;
  return ::unlink(path.c_str()) == 0;
}

// Binds and listens. `path`: of the file, or empty.
void start_listening(int socket, const endpoint& at, const std::string& path,
                     const socket_address& address, const listen_options& o) {
  std::optional<directory_lock> lock;
  if (!path.empty()) lock.emplace(path);
  if (::bind(socket, &address.base, address.size) != 0) {
    const asio_error_code ec = last_error();
    const bool may_be_stale =
        ec == asio::error::address_in_use && !path.empty() && o.replace_stale_path;
    if (!may_be_stale || !remove_if_stale(path, address)) fail(at, ec);
    if (::bind(socket, &address.base, address.size) != 0) fail(at, last_error());
  }
  if (::listen(socket, o.backlog) == 0) return;
  const asio_error_code ec = last_error();
  if (!path.empty()) ::unlink(path.c_str());
  fail(at, ec);
}

// Absolute, because the program may change its directory.
std::string absolute(std::string path) {
  if (path.empty() || path.starts_with('/')) return path;
  std::array<char, PATH_MAX> here{};
  if (!::getcwd(here.data(), here.size())) return path;
  return here.data() + ('/' + path);
}

endpoint address_of(int socket) {
  socket_address a;
  if (::getsockname(socket, &a.base, &a.size) != 0) return {};
  return a.to_endpoint();
}

}  // namespace

socket_file::socket_file(const std::string& path) noexcept {
  struct stat s{};
  if (::lstat(path.c_str(), &s) != 0 || !S_ISSOCK(s.st_mode)) return;
  device = s.st_dev;
  number = s.st_ino;
}

asio_acceptor::asio_acceptor(scheduler& s, const endpoint& at, const listen_options& o)
    : scheduler_(s),
      socket_(scheduler_executor(s)),
      accepted_(o.accepted),
      generation_(fork_generation()) {
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
  if (a.receive_buffer > 0) {
    set(made, SOL_SOCKET, SO_RCVBUF, kernel_buffer_size(a.receive_buffer), at);
  }
  const bool has_file = at.is_unix() && !at.path().starts_with('@');
  path_ = has_file ? absolute(std::string(at.path())) : "";
  local_ = at;
  watch(socket);  // before it has a file, which an error would leave behind
  start_listening(number(), at, path_, address, o);
  file_ = socket_file(path_);
  if (at.is_unix()) return;
  const endpoint bound = address_of(number());
  local_ = at.is_any() ? endpoint("*", bound.port()) : bound;
}

asio_acceptor::asio_acceptor(scheduler& s, descriptor& listening)
    : scheduler_(s), socket_(scheduler_executor(s)), generation_(fork_generation()) {
  int listens = 0;
  socklen_t size = sizeof listens;
  const bool known = ::getsockopt(listening.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0;
  if (!known || listens == 0) {
    throw failure(errc::invalid_argument,
                  "descriptor " + std::to_string(listening.get()) + " adopted as a listener: " +
                      (known ? "it does not listen" : last_error().message()));
  }
  ::fcntl(listening.get(), F_SETFD, FD_CLOEXEC);
  local_ = address_of(listening.get());
  watch(listening);
}

void asio_acceptor::watch(descriptor& listening) {
  const int flags = ::fcntl(listening.get(), F_GETFL);
  ::fcntl(listening.get(), F_SETFL, flags | O_NONBLOCK);
  asio_error_code ec;
  socket_.assign(listening.get(), ec);
  if (ec) fail(local_, ec);
  listening.release();
}

std::unique_ptr<network_stream> asio_acceptor::accept(asio_error_code& error) {
  auto stream = std::make_unique<asio_stream>();  // first: later, a lack of memory would lose one
  socket_address peer;
  const int accepted = ::accept4(number(), &peer.base, &peer.size, SOCK_CLOEXEC);
  if (accepted < 0) {
    error = errno == EAGAIN || errno == EWOULDBLOCK ? asio_error_code() : last_error();
    return nullptr;
  }
  descriptor socket(accepted, "accept");
  stream->take(socket, peer);
  static_cast<void>(stream->apply(accepted_));  // it may have been reset: its reads say so
  return stream;
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
  const bool is_own = generation_ == fork_generation() && file_;
  if (is_own && socket_file(path_) == file_) ::unlink(path_.c_str());
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
