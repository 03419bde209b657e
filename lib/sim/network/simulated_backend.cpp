#include "sim/network/simulated_backend.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "leat/async/sleep.hpp"
#include "leat/async/task.hpp"
#include "leat/base/asio.hpp"
#include "leat/base/error.hpp"
#include "leat/sim/allocation_faults.hpp"
#include "sim/network/connect_attempt.hpp"
#include "sim/network/simulated_acceptor.hpp"
#include "sim/network/simulated_stream.hpp"
#include "sim/network/stream_end.hpp"

#include LEAT_ASIO(error.hpp)

namespace LEAT::sim {

using namespace std::chrono_literals;

namespace {

// Without faults of allocations: they are failures of the program's own allocations.
std::unique_ptr<connect_attempt> begin_attempt(network_core& c, network_host& h,
                                               const endpoint& to) {
  const allocation_faults::without_faults own;
  auto attempt = std::make_unique<connect_attempt>(c, h, to);
  attempt->begin();
  return attempt;
}

std::unique_ptr<network_stream> finish_attempt(connect_attempt& a,
                                               const connection_options& options) {
  const allocation_faults::without_faults own;
  stream_end& e = a.take();
  e.apply(options);
  return std::make_unique<simulated_stream>(e);
}

std::unique_ptr<network_stream> connect_unix(network_core& c, network_host& h,
                                             simulated_acceptor& b, const endpoint& to,
                                             const connection_options& options) {
  const allocation_faults::without_faults own;
  const std::uint64_t number = c.next_number();
  stream_end& mine =
      c.add_end(std::make_unique<stream_end>(c, h, h, endpoint(), to, number, false));
  stream_end& theirs =
      c.add_end(std::make_unique<stream_end>(c, h, h, to, endpoint(), number, false));
  stream_end::join(mine, theirs);
  b.expect(theirs);
  b.list(theirs);
  mine.apply(options);
  return std::make_unique<simulated_stream>(mine);
}

}  // namespace

task<std::unique_ptr<network_stream>> simulated_backend::connect(endpoint to,
                                                                 connection_options options) {
  const std::string what = "connect to " + to.text();
  std::unique_ptr<network_stream> stream;
  if (to.is_unix()) {
    // As with a real one.
    for (duration pause = 1ms;; pause = std::min<duration>(2 * pause, 100ms)) {
      simulated_acceptor* const b = host_.find_listener(to);
      if (!b) {
        const bool is_there = host_.has_path(std::string(to.path()));
        const bool has_file = !to.path().starts_with('@');
        throw failure(is_there || !has_file
                          ? asio_error_code(asio::error::connection_refused)
                          : asio_error_code(ENOENT, asio::error::get_system_category()),
                      what);
      }
      if (!b->is_full()) {
        stream = connect_unix(core_, host_, *b, to, options);
        break;
      }
      co_await sleep_for(pause);
    }
  } else {
    const auto attempt = begin_attempt(core_, host_, to);
    co_await attempt->ended.wait();
    stream = finish_attempt(*attempt, options);
  }
  stream->attach(scheduler_);
  co_return stream;
}

task<std::vector<endpoint>> simulated_backend::resolve(endpoint name) {
  const std::string what = "resolve " + name.text();
  const network_faults& faults = core_.options.faults;
  if (core_.chance(faults.slow_name, "slow lookup of a name?")) {
    co_await sleep_for(5s);
  }
  if (core_.chance(faults.no_name_server, "no name server?")) {
    core_.note("FAULT: no name server answers");
    throw failure(errc::unavailable, what + ": no name server answers, try again later");
  }
  std::vector<endpoint> found;
  for (const std::string& address : core_.addresses_of(host_, std::string(name.host()))) {
    found.emplace_back(address, name.port());
  }
  if (found.empty()) throw failure(errc::not_found, what + ": this name is unknown");
  co_return found;
}

std::unique_ptr<network_acceptor> simulated_backend::listen(const endpoint& at,
                                                            const listen_options& options) {
  const allocation_faults::without_faults own;
  const std::string what = "listen at " + at.text();
  if (at.is_unix()) {
    const std::string path(at.path());
    if (host_.find_listener(at) ||
        (host_.has_path(path) && !(options.replace_stale_path && host_.remove_stale_path(path)))) {
      throw failure(asio::error::make_error_code(asio::error::address_in_use), what);
    }
  } else if (!host_.has_address(at)) {
    throw failure(asio_error_code(EADDRNOTAVAIL, asio::error::get_system_category()), what);
  }
  return std::make_unique<simulated_acceptor>(core_, host_, scheduler_, at, options);
}

}  // namespace LEAT::sim
