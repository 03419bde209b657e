#pragma once

#include <algorithm>
#include <chrono>
#include <exception>
#include <source_location>
#include <string>
#include <utility>

#include <grpcpp/grpcpp.h>
#include <leat/leat.hpp>

/// Status codes and deadlines, for the calls of a client and of a server.
namespace rpc {

//! [status]
/// Throws the error of a call. The codes of leat::errc have the numbers of gRPC's.
inline void throw_if_failed(const grpc::Status& status, const std::string& call) {
  if (status.ok()) return;
  throw leat::failure(static_cast<leat::errc>(status.error_code()),
                      call + ": " + status.error_message());
}

/// Returns the status for an exception. Codes of the system, such as ENOENT, have an equivalent.
inline grpc::Status to_status(const std::exception_ptr& error) {
  const std::error_code ec = leat::to_error_code(error);
  int code = grpc::UNAUTHENTICATED;  // the last one
  while (code > 0 && ec != static_cast<leat::errc>(code)) --code;
  const auto found = static_cast<grpc::StatusCode>(code > 0 ? code : grpc::UNKNOWN);
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    std::string text = e.what();
    const std::string meaning = ": " + ec.message();  // the client adds it
    if (text.ends_with(meaning)) text.resize(text.size() - meaning.size());
    return {found, text};
  } catch (...) {
    return {found, "an exception without a message"};
  }
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
  deadline_type until = std::chrono::system_clock::now() + limit;
  if (const auto* outer = deadline.get()) until = std::min(until, *outer);
  co_return co_await leat::with_timeout(deadline.with(until, std::move(body)), limit, where);
}
//! [/deadline]

}  // namespace rpc
