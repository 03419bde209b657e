#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_callback.h>
#include <leat/leat.hpp>

#include "status.hpp"

/// Calls of a server, handled by leat tasks through gRPC's callback API.
namespace rpc {

//! [call]
/// A call that a task handles. gRPC calls its functions on threads of its own, and OnDone() as the
/// last one, after Finish().
template <class Reactor>
class server_call : public Reactor {
 public:
  explicit server_call(grpc::CallbackServerContext* c) : context(c) {}
  void OnCancel() override { left.request_stop(); }
  void OnDone() override { delete this; }
  /// Called before Finish().
  virtual void prepare_finish() {}

  grpc::CallbackServerContext* const context;
  std::stop_source left;  // the client has left or cancelled, or the deadline has passed
  leat::semaphore::guard permit;
};

/// Finishes the call on every path, also if its task never starts.
struct finish {
  grpc::Status status{grpc::UNAVAILABLE, "the server is shutting down"};

  template <class Call>
  void operator()(Call* call) const {
    call->prepare_finish();
    call->permit.release();
    call->Finish(status);  // the call may be gone now
  }
};

template <class Call, class Body>
leat::task<> run_call(std::unique_ptr<Call, finish> call, leat::time_span limit, Body body) {
  grpc::Status& status = call.get_deleter().status;
  try {
    auto handler = deadline.with(call->context->deadline(), within(limit, body()));
    // Only this task is stopped by the client's cancellation.
    co_await leat::with_stop(std::move(handler), call->left.get_token());
    status = grpc::Status::OK;
  } catch (...) {
    const auto thrown = std::current_exception();
    const bool cancelled = leat::to_error_code(thrown) == leat::errc::cancelled;
    if (cancelled && call->left.stop_requested()) {
      status = grpc::Status::CANCELLED;
    } else if (!leat::this_task::stop_requested()) {
      status = to_status(thrown);
    }
  }
}
//! [/call]

//! [start]
/// The tasks that handle the calls of a server. gRPC's threads start them.
struct tasks {
  leat::coordinator& owner;
  leat::scheduler& scheduler;
  leat::semaphore& permits;  // one for each open call
  leat::time_span limit;     // the longest time of a call

  template <class Call, class Body>
  void start(Call* call, const char* name, Body body) const noexcept try {
    std::unique_ptr<Call, finish> owned(call);
    call->permit = permits.try_acquire();
    if (call->permit) {
      owner.spawn_on(scheduler, run_call(std::move(owned), limit, std::move(body)), name);
    } else {
      owned.get_deleter().status = {grpc::RESOURCE_EXHAUSTED, "too many calls"};
    }
  } catch (...) {  // a lack of memory: the call has been finished as UNAVAILABLE
  }
};

/// Handles a unary call. `body` returns the handler, which may use the request and the reply.
template <class Body>
grpc::ServerUnaryReactor* handle(const tasks& t, grpc::CallbackServerContext* context,
                                 const char* name, Body body) {
  auto* const call = new server_call<grpc::ServerUnaryReactor>(context);
  t.start(call, name, body);
  return call;
}
//! [/start]

//! [writer]
/// The end of a stream to which the handler writes.
template <class Message>
class writer final : public server_call<grpc::ServerWriteReactor<Message>> {
 public:
  using server_call<grpc::ServerWriteReactor<Message>>::server_call;

  /// Sends a message, and waits until gRPC can take the next one: a client that reads slowly slows
  /// down the handler. Errors: `cancelled`, if the client has left.
  /// Cancellation: none: the message may be sent nevertheless. Then end the handler.
  leat::task<> write(Message message) {
    co_await previous_write();
    message_ = std::move(message);
    writing_ = true;
    this->StartWrite(&message_);
    co_await previous_write();
  }
  // Otherwise, Finish() would wait for a client that does not read.
  void prepare_finish() override {
    if (writing_) this->context->TryCancel();
  }

 private:
  leat::task<> previous_write() {
    if (!writing_) co_return;
    co_await written_.wait();
    writing_ = false;
    if (!ok_) throw error(leat::errc::cancelled, "the client has left");
  }
  void OnWriteDone(bool ok) override {
    ok_ = ok;
    written_.notify();
  }

  Message message_;
  bool writing_ = false, ok_ = false;
  leat::notification written_{"write"};
};

/// Handles a call with a stream of replies. `body` receives the writer and returns the handler.
template <class Message, class Body>
grpc::ServerWriteReactor<Message>* handle_stream(const tasks& t,
                                                 grpc::CallbackServerContext* context,
                                                 const char* name, Body body) {
  auto* const out = new writer<Message>(context);
  t.start(out, name, [out, body] { return body(*out); });
  return out;
}
//! [/writer]

}  // namespace rpc
