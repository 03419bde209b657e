#pragma once

#include <fcntl.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <asio/posix/stream_descriptor.hpp>
#include <leat/leat.hpp>
#include <libpq-fe.h>

/// PostgreSQL for leat tasks, through the non-blocking functions of libpq.
namespace postgres {

using descriptor = asio::posix::stream_descriptor;

struct deleter {
  void operator()(PGconn* c) const { PQfinish(c); }
  void operator()(PGresult* r) const { PQclear(r); }
  void operator()(PGcancel* c) const { PQfreeCancel(c); }
};
using result = std::unique_ptr<PGresult, deleter>;

inline leat::failure error_of(leat::errc code, std::string_view what, std::string_view message) {
  return {code, std::string(what) + ": " + std::string(message.substr(0, message.find('\n')))};
}

//! [descriptor]
// libpq may close its descriptor in any call, and Asio would not notice. So Asio gets a duplicate.
inline descriptor watch(PGconn* pg) {
  const int duplicate = ::fcntl(PQsocket(pg), F_DUPFD_CLOEXEC, 0);
  if (duplicate < 0) throw leat::failure({errno, std::system_category()}, "dup");
  return {leat::get_executor(leat::this_task::get_scheduler()), duplicate};
}

inline leat::task<> wait_for(descriptor& socket, descriptor::wait_type type) {
  co_await socket.async_wait(type, leat::use_task);
}
//! [/descriptor]

// A connection, which runs one query at a time.
class connection {
 public:
  //! [connect]
  static leat::task<connection> open(std::string conninfo) {
    connection c;
    c.pg_.reset(PQconnectStart(conninfo.c_str()));
    if (!c.pg_) throw std::bad_alloc();
    PGconn* const pg = c.pg_.get();
    auto next = PQstatus(pg) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
    for (; next != PGRES_POLLING_OK; next = PQconnectPoll(pg)) {
      if (next == PGRES_POLLING_FAILED)
        throw error_of(leat::errc::unavailable, "connect", PQerrorMessage(pg));
      descriptor socket = watch(pg);  // each step may use another descriptor
      const bool reads = next == PGRES_POLLING_READING;
      co_await wait_for(socket, reads ? descriptor::wait_read : descriptor::wait_write);
    }
    PQsetnonblocking(pg, 1);
    c.socket_.emplace(watch(pg));
    co_return c;
  }
  //! [/connect]

  //! [query]
  using parameter = std::optional<std::string>;  // std::nullopt: NULL

  // Runs one statement with the parameters $1, $2 and so on. If a stop or a limit ends the wait,
  // cancels the statement, and waits until the connection can be used again or is closed.
  template <class... Parameters>
  leat::task<result> query(std::string sql, Parameters... parameters) {
    return run(std::move(sql), {parameter(std::move(parameters))...});
  }
  leat::task<result> run(std::string sql, std::vector<parameter> parameters) {
    std::vector<const char*> values;
    for (const parameter& p : parameters) {
      if (p && p->find('\0') != p->npos)  // libpq would ignore the rest
        throw leat::failure(leat::errc::invalid_argument, "query: '\\0' in a parameter");
      values.push_back(p ? p->c_str() : nullptr);
    }
    if (leat::this_task::stop_requested()) throw leat::failure(leat::errc::cancelled, "query");
    const int sent = PQsendQueryParams(pg_.get(), sql.c_str(), static_cast<int>(values.size()),
                                       nullptr, values.data(), nullptr, nullptr, 0);
    if (!sent) throw lost();
    std::exception_ptr error;
    try {
      co_return co_await receive();
    } catch (...) {
      error = std::current_exception();  // a catch block must not await
    }
    if (PQtransactionStatus(pg_.get()) == PQTRANS_ACTIVE) {
      leat::task_group cleanup(leat::shielded, "cancel query");  // its waits ignore the stop
      cleanup.spawn(cancel());
      co_await cleanup.join();
    }
    std::rethrow_exception(error);
  }
  //! [/query]

  leat::failure lost() const {
    return error_of(leat::errc::unavailable, "query", PQerrorMessage(pg_.get()));
  }

  // Reads what the server has sent meanwhile. A server that shuts down sends a message and then
  // closes the connection: the first call reads the message, and the second one sees the end.
  [[nodiscard]] bool is_idle() const {
    PGconn* const pg = pg_.get();
    return PQconsumeInput(pg) && PQconsumeInput(pg) && PQtransactionStatus(pg) == PQTRANS_IDLE;
  }

 private:
  //! [receive]
  leat::task<> flush() {
    while (const int left = PQflush(pg_.get())) {
      if (left < 0) throw lost();
      // The server may have to send something before it continues to read.
      co_await leat::when_any(wait_for(*socket_, descriptor::wait_read),
                              wait_for(*socket_, descriptor::wait_write));
      if (!PQconsumeInput(pg_.get())) throw lost();
    }
  }

  leat::task<result> receive() {
    co_await flush();
    PGconn* const pg = pg_.get();
    result last;
    for (;;) {
      while (PQisBusy(pg)) {
        co_await wait_for(*socket_, descriptor::wait_read);
        if (!PQconsumeInput(pg)) throw lost();
      }
      result next(PQgetResult(pg));  // after the last result: null
      if (!next) break;
      last = std::move(next);
      const auto status = PQresultStatus(last.get());
      if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH)
        throw leat::failure(leat::errc::unimplemented, "query: COPY");
    }
    const auto status = PQresultStatus(last.get());
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) co_return last;
    if (status == PGRES_EMPTY_QUERY)
      throw leat::failure(leat::errc::invalid_argument, "query: the statement is empty");
    const char* const sqlstate = PQresultErrorField(last.get(), PG_DIAG_SQLSTATE);
    const std::string_view state = sqlstate ? sqlstate : "08000";
    const bool is_lost = state.starts_with("08") || state.starts_with("57P");
    throw error_of(is_lost                   ? leat::errc::unavailable
                   : state.starts_with("40") ? leat::errc::aborted  // such as a deadlock: retry
                                             : leat::errc::unknown,
                   "query", PQresultErrorMessage(last.get()));
  }
  //! [/receive]

  //! [cancel]
  leat::task<> cancel() try {
    // An unreachable database must not block the threads of other calls.
    static leat::blocking_pool threads({.threads = 4, .name = "PQcancel"});
    const std::unique_ptr<PGcancel, deleter> request(PQgetCancel(pg_.get()));
    const auto send = [&request] {  // connects, sends the request, and waits
      char text[256];
      PQcancel(request.get(), text, sizeof text);
    };
    co_await leat::with_timeout(leat::run_blocking(threads, send), std::chrono::seconds(2));
    co_await leat::as_tuple(leat::with_timeout(receive(), std::chrono::seconds(2)));
    if (!is_idle()) pg_.reset();
  } catch (const std::exception&) {  // no memory, or all threads are busy
    pg_.reset();
  }
  //! [/cancel]

  std::unique_ptr<PGconn, deleter> pg_;
  std::optional<descriptor> socket_;
};

}  // namespace postgres
