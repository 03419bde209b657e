#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/client_callback.h>
#include <leat/leat.hpp>

#include "status.hpp"

/// Calls of a client, made by leat tasks through gRPC's callback API.
namespace rpc {

//! [channel]
/// Owner of a channel. Destroy it after its stubs. The destructor waits for the callbacks of
/// cancelled calls: gRPC aborts if the last of them destroys the channel on a thread of gRPC.
struct channel_owner {
  std::shared_ptr<grpc::Channel> channel;
  ~channel_owner() {
    while (channel.use_count() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};
//! [/channel]

//! [unary]
/// Prepares a call: passes on the deadline of the task. A stopped task makes no further call.
/// Errors: `cancelled`, if the task was asked to stop.
inline void prepare(grpc::ClientContext& context, const std::string& name) {
  if (leat::this_task::stop_requested())
    throw leat::failure(leat::errc::cancelled, name + ": not called");
  if (const auto* until = deadline.get()) context.set_deadline(*until);
}

/// Calls a unary method, and waits for the reply:
///
///     Number sum = co_await rpc::call("Add", stub->async(), &methods::Add, numbers);
///
/// A stop or an expired time limit cancels the call and ends the wait immediately. `name` is for
/// messages. Errors: leat::failure with the code and the message of the status.
template <class Stub, class Request, class Reply>
leat::task<Reply> call(std::string name, std::type_identity_t<Stub>* stub,
                       void (Stub::*method)(grpc::ClientContext*, const Request*, Reply*,
                                            std::function<void(grpc::Status)>),
                       std::type_identity_t<Request> request) {
  struct state {  // gRPC uses it until the callback returns, so the callback owns it, too
    grpc::ClientContext context;
    Request request;
    Reply reply;
    leat::oneshot<grpc::Status> done{"reply"};
  };
  struct cancel_at_exit {  // without an effect after the end of the call
    std::shared_ptr<state> call;
    ~cancel_at_exit() { call->context.TryCancel(); }
  };
  const auto s = std::make_shared<state>();
  prepare(s->context, name);
  s->request = std::move(request);
  auto receiver = std::move(s->done.rx);
  const cancel_at_exit guard{s};
  std::invoke(method, stub, &s->context, &s->request, &s->reply,
              [s](grpc::Status status) { s->done.tx.send(std::move(status)); });
  const auto status = co_await receiver.receive();
  throw_if_failed(*status, name);
  co_return std::move(s->reply);
}
//! [/unary]

//! [reader]
/// A call that returns a stream of messages. Destroying the reader cancels the call.
///
///     rpc::reader<Number> numbers("Count", stub->async(), &methods::Count, range);
///     while (auto number = co_await numbers.next()) ...
template <class Message>
class reader {
 public:
  /// Starts the call. Errors: `cancelled`, if the task was asked to stop.
  template <class Stub, class Request>
  reader(std::string name, std::type_identity_t<Stub>* stub,
         void (Stub::*method)(grpc::ClientContext*, const Request*,
                              grpc::ClientReadReactor<Message>*),
         std::type_identity_t<Request> request)
      : name_(std::move(name)), state_(std::make_shared<state>()) {
    prepare(state_->context, name_);
    const auto sent = std::make_shared<Request>(std::move(request));
    state_->request = sent;
    state_->self = state_;
    std::invoke(method, stub, &state_->context, sent.get(), state_.get());
    state_->AddHold();  // permits StartRead() outside of callbacks
    state_->StartCall();
  }
  reader(const reader&) = delete;
  reader& operator=(const reader&) = delete;
  ~reader() {
    state_->context.TryCancel();
    release_hold();
  }

  /// Returns the next message, or nothing after the last one.
  /// Errors: leat::failure with the code and the message of the status.
  /// Cancellation: total: the next call returns the message.
  leat::task<std::optional<Message>> next() {
    if (!reading_ && !ended_) {
      state_->StartRead(&state_->message);
      reading_ = true;
    }
    if (reading_) {
      co_await state_->read_done.wait();
      reading_ = false;
      if (state_->ok) co_return std::move(state_->message);
      ended_ = true;
      release_hold();
    }
    if (!status_) status_ = co_await state_->done.rx.receive();
    throw_if_failed(*status_, name_);
    co_return std::nullopt;
  }

 private:
  struct state final : grpc::ClientReadReactor<Message> {
    void OnReadDone(bool has_message) override {
      ok = has_message;
      read_done.notify();
    }
    void OnDone(const grpc::Status& status) override {
      done.tx.send(status);
      const auto last = std::move(self);  // may destroy the object
    }

    grpc::ClientContext context;
    std::shared_ptr<const void> request;
    Message message;
    bool ok = false;
    leat::notification read_done{"message"};
    leat::oneshot<grpc::Status> done{"status"};
    std::shared_ptr<state> self;  // until gRPC's last callback
  };

  void release_hold() {
    if (!std::exchange(released_, true)) state_->RemoveHold();
  }

  const std::string name_;
  std::shared_ptr<state> state_;
  bool reading_ = false, ended_ = false, released_ = false;
  std::optional<grpc::Status> status_;
};
//! [/reader]

}  // namespace rpc
