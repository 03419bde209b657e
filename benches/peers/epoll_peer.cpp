// TCP echoes with epoll, without a library: about the least time of an echo with readiness events.
// The peer of leat_asio_bench in latency/echo-N and asio/echo-N.

#include <array>
#include <cstddef>
#include <system_error>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/bench.hpp"

namespace {

int checked(int result) {
  if (result < 0) throw std::system_error(errno, std::generic_category());
  return result;
}

// Both ends of the connections, in one epoll instance.
class echoes {
 public:
  explicit echoes(long connections) {
    const int acceptor = checked(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    checked(::bind(acceptor, any, size));
    checked(::listen(acceptor, SOMAXCONN));
    checked(::getsockname(acceptor, any, &size));
    for (long i = 0; i < connections; ++i) {
      const int client = checked(::socket(AF_INET, SOCK_STREAM, 0));
      checked(::connect(client, any, size));
      add(client, true);
      add(checked(::accept(acceptor, nullptr, nullptr)), false);
    }
    ::close(acceptor);
  }
  ~echoes() {
    for (const end& e : ends_) ::close(e.socket);
    ::close(epoll_);
  }

  // Makes `count` round trips in all.
  void run(long count, bench::latencies* round_trips) {
    const long each = count / (static_cast<long>(ends_.size()) / 2);
    if (each == 0) return;
    for (end& e : ends_) {
      e.remaining = each;
      if (e.is_client) call(e);
    }
    long remaining = each * static_cast<long>(ends_.size()) / 2;
    std::array<epoll_event, 128> events;
    while (remaining > 0) {
      const int ready = checked(::epoll_wait(epoll_, events.data(), events.size(), -1));
      for (int i = 0; i < ready; ++i) {
        end& e = ends_[events[static_cast<std::size_t>(i)].data.u64];
        const ssize_t read = ::recv(e.socket, bytes_.data(), bytes_.size(), 0);
        if (read <= 0) continue;
        if (!e.is_client) {
          checked(static_cast<int>(::send(e.socket, bytes_.data(), std::size_t(read), 0)));
          continue;
        }
        if (round_trips) round_trips->add(bench::seconds_since(e.begin));
        --remaining;
        if (--e.remaining > 0) call(e);
      }
    }
  }

 private:
  struct end {
    int socket;
    bool is_client;
    long begin = 0;
    long remaining = 0;
  };

  void add(int socket, bool is_client) {
    const int on = 1;
    checked(::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
    checked(::fcntl(socket, F_SETFL, O_NONBLOCK));
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    event.data.u64 = ends_.size();
    ends_.push_back({socket, is_client});
    checked(::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event));
  }

  void call(end& e) {
    e.begin = bench::nanoseconds_now();
    checked(static_cast<int>(::send(e.socket, bytes_.data(), bytes_.size(), 0)));
  }

  int epoll_ = checked(::epoll_create1(0));
  std::vector<end> ends_;
  std::array<char, 64> bytes_{};
};

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  const bool latency = r.workload.starts_with("latency/echo-");
  if (!latency && !r.workload.starts_with("asio/echo-")) bench::unknown(r);
  bench::pin(0);
  bench::raise_descriptor_limit();
  echoes e(bench::number_of(r));
  if (latency) {
    bench::latencies round_trips(static_cast<std::size_t>(r.items));
    e.run(r.items, &round_trips);
    return round_trips.report(r, "epoll");
  }
  const double each = bench::nanoseconds_each(r, [&](long count) { e.run(count, nullptr); });
  return bench::report(r, "epoll", each, "ns/item");
}
