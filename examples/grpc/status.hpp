#pragma once

#include <chrono>
#include <exception>
#include <iostream>
#include <source_location>
#include <string>
#include <utility>

#include <grpcpp/grpcpp.h>
#include <leat/leat.hpp>

/// Status codes and deadlines, for the calls of a client and of a server.
namespace rpc {

//! [status]
/// Throws the error of a client's call. The codes of leat::errc have the numbers of gRPC's.
inline void throw_if_failed(const grpc::Status& status, const std::string& call) {
  if (status.ok()) return;
  throw leat::failure(static_cast<leat::errc>(status.error_code()),
                      call + ": " + status.error_message());
}

/// An error of a handler whose code and message are meant for the client.
struct error : leat::failure {
  error(leat::errc code, const std::string& message)
      : leat::failure(code, message), status(static_cast<grpc::StatusCode>(code), message) {}
  grpc::Status status;
};

/// Returns the status of a call whose handler has thrown. Only an rpc::error reaches the client.
/// Other exceptions may contain secrets, and are printed to standard error.
inline grpc::Status to_status(const std::exception_ptr& thrown) try {
  std::rethrow_exception(thrown);
} catch (const error& e) {
  return e.status;
} catch (const std::exception& e) {
  std::cerr << leat::this_task::get_context().name() << ": " << e.what() << std::endl;
  if (leat::to_error_code(thrown) == leat::errc::deadline_exceeded)
    return {grpc::DEADLINE_EXCEEDED, "took too long"};
  return {grpc::INTERNAL, "internal error"};
} catch (...) {
  return {grpc::INTERNAL, "internal error"};
}
//! [/status]

//! [deadline]
using deadline_type = std::chrono::system_clock::time_point;

/// The deadline of the task, which its calls pass to their servers.
inline const leat::task_local<deadline_type> deadline;

/// Like leat::with_timeout(), and also sets the deadline of the calls that the task makes.
template <class T>
leat::task<T> within(leat::time_span limit, leat::task<T> body,
                     std::source_location where = std::source_location::current()) {
  const auto now = std::chrono::system_clock::now();
  const auto* const outer = deadline.get();
  deadline_type until = outer ? *outer : deadline_type::max();
  if (limit < until - now) until = now + limit;
  co_return co_await leat::with_timeout(deadline.with(until, std::move(body)), limit, where);
}
//! [/deadline]

}  // namespace rpc
