#pragma once

// Where the programs of the parity suite run, and the operations from which they are written. Each
// operation runs on the scheduler of its connection, and returns what happened as a text.

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>

#include <asio.hpp>

#include "leat/net.hpp"
#include "leat/sync.hpp"
#include "support/leat_test.hpp"

namespace leat_test::parity {

using leat::as_tuple;
using leat::connection;
using leat::endpoint;
using leat::listener;
using leat::run_on;
using leat::scheduler;
using leat::with_timeout;

/// A direction of the path between the client and the server.
enum class way { both, to_server, to_client };

/// A program could not begin, because a fault prevented its connection.
class no_connection : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Two ends of a connection.
struct ends {
  connection client;
  connection server;
};

/// Buffers that are full after few writes.
inline constexpr leat::connection_options small_buffers{.send_buffer = 16'384,
                                                        .receive_buffer = 16'384};

/// Returns "end", "waits" for a limit that has expired, the name of an error, or its message.
inline std::string name_of(const leat::asio_error_code& ec) {
  if (ec == asio::error::eof) return "end";
  if (ec == make_error_code(errc::deadline_exceeded)) return "waits";
  if (ec == make_error_code(errc::not_found)) return "not found";
  if (ec == make_error_code(errc::unavailable)) return "unavailable";
  if (ec == make_error_code(errc::cancelled)) return "cancelled";
  constexpr std::pair<int, const char*> names[] = {
      {ECONNRESET, "ECONNRESET"},
      {EPIPE, "EPIPE"},
      {ECONNREFUSED, "ECONNREFUSED"},
      {ETIMEDOUT, "ETIMEDOUT"},
      {ENOTCONN, "ENOTCONN"},
      {EHOSTUNREACH, "EHOSTUNREACH"},
      {EADDRINUSE, "EADDRINUSE"},
      {EADDRNOTAVAIL, "EADDRNOTAVAIL"},
      {ENOENT, "ENOENT"},
      {EAGAIN, "EAGAIN"},
      {ECANCELED, "ECANCELED"},
  };
  for (const auto& [number, name] : names) {
    if (ec == leat::asio_error_code(number, asio::error::get_system_category())) return name;
  }
  return ec.message();
}

/// A server and a client, on Linux or in a world.
class place {
 public:
  place() = default;
  place(const place&) = delete;
  place& operator=(const place&) = delete;
  virtual ~place() = default;

  [[nodiscard]] virtual bool is_simulated() const noexcept = 0;
  [[nodiscard]] virtual bool is_unix() const noexcept { return false; }
  /// Listens on the host of the server: at a free port, or at an address that is given. The
  /// listener belongs to this place.
  virtual task<listener*> listen(leat::listen_options o = {}, endpoint at = {}) = 0;
  /// Returns an address of the server at which nobody listens.
  virtual endpoint closed_address() = 0;
  /// Returns the address at which a client reaches a listener.
  [[nodiscard]] virtual endpoint address_of(const listener& l) const { return l.local(); }

  /// Connects, but the server does not know it yet.
  virtual task<connection> connect_unknown(listener& l) { return connect(l); }
  /// Returns an address of this machine whose port the next connect takes.
  virtual task<endpoint> next_own_address() { throw std::logic_error("not here"); }
  /// Takes all descriptors of the process, or gives them back. A simulated lack is a fault.
  virtual void take_descriptors() {}
  virtual void return_descriptors() {}

  /// Drops what is sent in one direction, or in both.
  virtual void cut(way) { throw std::logic_error("this place has no path"); }
  /// Like cut(), but a device answers that the server is unreachable.
  virtual void reject() { throw std::logic_error("this place has no path"); }
  virtual void heal() { throw std::logic_error("this place has no path"); }

  /// The time that something may take which is expected.
  [[nodiscard]] leat::duration long_limit() const { return is_simulated() ? 10min : 30s; }
  /// The time for which something is observed that should not happen.
  [[nodiscard]] leat::duration short_limit() const {
    if (is_unix()) return 100ms;
    return is_simulated() ? leat::duration(2min) : leat::duration(100ms);
  }

  /// The time after which a sender has given up.
  [[nodiscard]] leat::duration give_up_limit() const { return is_simulated() ? 1h : 30s; }

  // ---- Connections.

  /// Returns "listening" or an error.
  task<std::string> try_listen(leat::listen_options o, endpoint at) {
    const auto made = co_await as_tuple(listen(o, std::move(at)));
    co_return made.error ? name_of(made.error) : "listening";
  }
  task<connection> connect(const listener& l, leat::connection_options o = {}) {
    co_return co_await with_timeout(leat::connect(address_of(l), o), long_limit());
  }
  /// Accepts a connection, which belongs to the scheduler of the listener.
  task<connection> accept(listener& l) {
    return run_on(l.get_scheduler(), accept_within(l, long_limit()));
  }
  /// Returns "accepted", "waits" or an error. `into`: the connection.
  task<std::string> try_accept(listener& l, connection& into, leat::duration limit) {
    return run_on(l.get_scheduler(), try_accept_within(l, into, limit));
  }
  task<std::string> try_connect(endpoint to, connection& into, leat::duration limit) {
    auto made = co_await as_tuple(with_timeout(leat::connect(to), limit));
    if (made.error) co_return name_of(made.error);
    into = std::move(made.value);
    co_return "connected";
  }
  task<std::string> try_connect(endpoint to) {
    connection c;
    co_return co_await try_connect(std::move(to), c, long_limit());
  }
  task<ends> connect_ends(leat::connection_options o = {}) {
    std::string what;
    try {
      listener& l = *co_await listen({.accepted = o});
      ends e;
      e.client = co_await connect(l, o);
      e.server = co_await accept(l);
      co_await close(l);
      co_return e;
    } catch (const leat::failure& error) {
      what = name_of(leat::to_asio_error(error.code()));
    }
    throw no_connection("no connection: " + what);
  }

  // ---- Operations.

  /// Reads once: "5 bytes", "end" or an error.
  task<std::string> read(connection& c, std::size_t most = 65'536) {
    return run_on(c.get_scheduler(), read_within(c, most, long_limit()));
  }
  /// Reads once, if nothing should arrive.
  task<std::string> read_soon(connection& c) {
    return run_on(c.get_scheduler(), read_within(c, 65'536, short_limit()));
  }
  task<std::string> read_for(connection& c, leat::duration limit) {
    return run_on(c.get_scheduler(), read_within(c, 65'536, limit));
  }
  /// Reads exactly `count` bytes.
  task<std::string> take(connection& c, std::size_t count) {
    return run_on(c.get_scheduler(), take_within(c, count, long_limit()));
  }
  /// Reads until the end or an error: "all, end", "some, ECONNRESET", "none, end".
  task<std::string> drain(connection& c, std::size_t expected) {
    return run_on(c.get_scheduler(), drain_within(c, expected, long_limit()));
  }
  /// Writes all: "written" or an error.
  task<std::string> write(connection& c, std::string text) {
    return run_on(c.get_scheduler(), write_within(c, std::move(text), long_limit()));
  }
  /// Writes all, if the buffer is full.
  task<std::string> write_soon(connection& c, std::string text) {
    return run_on(c.get_scheduler(), write_within(c, std::move(text), short_limit()));
  }
  /// Writes until a write waits. Returns the number of bytes.
  task<std::size_t> fill(connection& c) {
    return run_on(c.get_scheduler(), fill_with(c, short_limit()));
  }
  task<> close(listener& l) { return run_on(l.get_scheduler(), close_listener(l)); }
  task<> close(connection& c) { return run_on(c.get_scheduler(), close_here(c)); }
  task<> reset(connection& c) { return run_on(c.get_scheduler(), reset_here(c)); }
  task<std::string> shutdown_send(connection& c) {
    return run_on(c.get_scheduler(), shutdown_here(c));
  }

  /// Closes the listeners on their schedulers.
  task<> finish() {
    for (listener& l : listeners_) co_await close(l);
  }

  // ---- Facts that have arrived. These return after long_limit() if they do not arrive.

  /// Waits until `count` bytes have arrived.
  task<> arrived(connection& c, std::size_t count) {
    return run_on(c.get_scheduler(),
                  poll(c, [count](const leat::connection_status& s) { return s.unread >= count; }));
  }
  /// Waits until the peer has acknowledged everything.
  task<> acknowledged(connection& c) {
    return run_on(c.get_scheduler(),
                  poll(c, [](const leat::connection_status& s) { return s.unsent == 0; }));
  }
  /// Waits until the connection is in a state, such as "closed" after a reset.
  task<> reached(connection& c, std::string state) {
    return run_on(c.get_scheduler(),
                  poll(c, [state](const leat::connection_status& s) { return s.state == state; }));
  }

 protected:
  listener* keep(listener l) {
    listeners_.push_back(std::move(l));
    return &listeners_.back();
  }

 private:
  static task<connection> accept_within(listener& l, leat::duration limit) {
    co_return co_await with_timeout(l.accept(), limit);
  }
  static task<std::string> try_accept_within(listener& l, connection& into, leat::duration limit) {
    auto accepted = co_await as_tuple(with_timeout(l.accept(), limit));
    if (accepted.error) co_return name_of(accepted.error);
    into = std::move(accepted.value);
    co_return "accepted";
  }
  static task<std::string> read_within(connection& c, std::size_t most, leat::duration limit) {
    std::vector<char> bytes(most);
    const auto read =
        co_await as_tuple(with_timeout(c.async_read_some(asio::buffer(bytes)), limit));
    if (read.error) co_return name_of(read.error);
    co_return std::to_string(read.value) + (read.value == 1 ? " byte" : " bytes");
  }
  static task<std::string> take_within(connection& c, std::size_t count, leat::duration limit) {
    std::vector<char> bytes(count);
    const auto read = co_await as_tuple(
        with_timeout(asio::async_read(c, asio::buffer(bytes), leat::use_task), limit));
    if (read.error) co_return name_of(read.error);
    co_return std::to_string(count) + (count == 1 ? " byte" : " bytes");
  }
  static task<std::string> drain_within(connection& c, std::size_t expected, leat::duration limit) {
    std::vector<char> bytes(65'536);
    std::size_t sum = 0;
    std::string end;
    while (end.empty()) {
      const auto read =
          co_await as_tuple(with_timeout(c.async_read_some(asio::buffer(bytes)), limit));
      if (read.error) end = name_of(read.error);
      sum += read.value;
    }
    const char* const part = sum == 0 ? "none, " : sum < expected ? "some, " : "all, ";
    co_return part + end;
  }
  static task<std::string> write_within(connection& c, std::string text, leat::duration limit) {
    const auto written = co_await as_tuple(
        with_timeout(asio::async_write(c, asio::buffer(text), leat::use_task), limit));
    co_return written.error ? name_of(written.error) : "written";
  }
  static task<std::size_t> fill_with(connection& c, leat::duration limit) {
    const std::string block(16'384, 'x');
    std::size_t sum = 0;
    for (;;) {
      const auto written =
          co_await as_tuple(with_timeout(c.async_write_some(asio::buffer(block)), limit));
      sum += written.value;
      if (written.error == make_error_code(errc::deadline_exceeded)) co_return sum;
      if (written.error) throw no_connection("no connection: " + name_of(written.error));
    }
  }
  static task<> close_listener(listener& l) {
    l.close();
    co_return;
  }
  static task<> close_here(connection& c) {
    c.close();
    co_return;
  }
  static task<> reset_here(connection& c) {
    c.reset();
    co_return;
  }
  static task<std::string> shutdown_here(connection& c) {
    const auto ec = c.shutdown_send();
    co_return ec ? name_of(ec) : "shut down";
  }
  template <class Condition>
  task<> poll(connection& c, Condition holds) {
    const leat::duration longest = is_simulated() ? leat::duration(20s) : leat::duration(5ms);
    const leat::time_point end = leat::this_task::get_scheduler().now() + long_limit();
    for (leat::duration pause = 1ms; !holds(c.status()); pause = std::min(2 * pause, longest)) {
      if (leat::this_task::get_scheduler().now() > end) co_return;
      co_await leat::sleep_for(pause);
    }
  }

  std::deque<listener> listeners_;
};

/// A program returns its outcome, such as "5 bytes, ECONNRESET, end".
using program = task<std::string> (*)(place&);

/// Runs a program, and returns its outcome or the error that ended it.
inline task<std::string> outcome_in(place& p, program f) {
  std::string text;
  try {
    text = co_await f(p);
  } catch (const no_connection& error) {
    text = error.what();
  } catch (const std::exception& error) {
    text = std::string("exception: ") + error.what();
  }
  co_await p.finish();
  co_return text;
}

/// Adds what has happened next to an outcome.
inline void add(std::string& outcome, const std::string& next) {
  if (!outcome.empty()) outcome += ", ";
  outcome += next;
}

}  // namespace leat_test::parity
