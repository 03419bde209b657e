#pragma once

#include <cctype>
#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <leat/leat.hpp>

#include "redis_events.hpp"

/// Redis for leat tasks, through the asynchronous interface of hiredis.
namespace redis {

//! [reply]
/// A copy of a reply, because hiredis frees its own after the callback.
struct reply {
  reply() = default;
  explicit reply(const redisReply& r)
      : type(r.type), integer(r.integer), text(r.str ? std::string(r.str, r.len) : "") {
    for (std::size_t i = 0; i < r.elements; ++i) elements.emplace_back(*r.element[i]);
  }
  int type = REDIS_REPLY_NIL;
  long long integer = 0;
  std::string text;
  std::vector<reply> elements;
};
//! [/reply]

/// A connection that is opened when a command needs it. Thread-bound. Several tasks may wait for
/// commands at the same time; the server executes these in the order of the calls. A command waits
/// while `most` others have no reply. If the server has not replied to any for `patience`, the
/// next command closes the connection, so the others fail, and opens another one.
class client {
 public:
  explicit client(std::string path, std::size_t most = 1000,
                  std::chrono::milliseconds patience = std::chrono::seconds(2))
      : path_(std::move(path)), patience_(patience), permits_(most, "redis commands") {}
  client(const client&) = delete;
  client& operator=(const client&) = delete;
  ~client() { close(); }

  //! [command]
  /// Sends a command, and waits for its reply. A stop or a limit ends only the wait: the server may
  /// still execute the command, and its reply is discarded.
  template <class... Words>
  leat::task<reply> command(Words... words) {
    return send({std::string(std::move(words))...});
  }
  leat::task<reply> send(std::vector<std::string> words) {
    std::string name = words.at(0);
    for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    if (name.ends_with("SUBSCRIBE") || name.ends_with("MONITOR"))  // these have many replies
      throw leat::failure(leat::errc::invalid_argument, name + ": not a command with one reply");
    if (is_silent()) close();
    auto call = std::make_unique<open_call>();
    call->permit = co_await permits_.acquire();
    if (!context_) connect();
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string& word : words) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
    leat::oneshot<answer> done(words[0]);
    call->sender = std::move(done.tx);
    const int status = redisAsyncCommandArgv(
        context_, &receive, call.get(), static_cast<int>(texts.size()), texts.data(), sizes.data());
    if (status != REDIS_OK) throw lost(words[0], "the connection is being closed");
    static_cast<void>(call.release());  // receive() destroys it; hiredis calls it once
    if (open_++ == 0) last_reply_ = std::chrono::steady_clock::now();
    static_cast<events*>(context_->ev.data)->close_if_failed();
    std::optional<answer> a = co_await done.rx.receive();
    if (!a) throw std::bad_alloc();
    if (!a->value) throw lost(words[0], a->error);
    if (a->value->type == REDIS_REPLY_ERROR)
      throw leat::failure(leat::errc::unknown, words[0] + ": " + a->value->text);
    co_return std::move(*a->value);
  }
  //! [/command]

 private:
  struct answer {
    std::unique_ptr<reply> value;
    std::string error;  // if there is no reply, because the connection was lost
  };

  // A command without a reply. Its permit returns with the reply, also if the task has left.
  struct open_call {
    leat::oneshot<answer>::sender sender;
    leat::semaphore::guard permit;
  };

  [[nodiscard]] bool is_silent() const {
    return open_ > 0 && std::chrono::steady_clock::now() - last_reply_ > patience_;
  }
  void close() {  // ends the open commands, and sets context_ to null
    if (context_) redisAsyncFree(context_);
  }

  static leat::failure lost(const std::string& command, const std::string& error) {
    return {leat::errc::unavailable, command + ": " + error};
  }

  //! [receive]
  // The callback of a command. An exception must not enter hiredis, which is written in C.
  static void receive(redisAsyncContext* context, void* r, void* data) noexcept try {
    const std::unique_ptr<open_call> call(static_cast<open_call*>(data));
    auto& self = *static_cast<client*>(context->data);
    --self.open_;
    self.last_reply_ = std::chrono::steady_clock::now();
    answer a;
    if (r) a.value = std::make_unique<reply>(*static_cast<redisReply*>(r));
    if (!r) a.error = context->err ? context->errstr : "the connection was closed";
    call->sender.send(std::move(a));  // has no effect if the wait was cancelled
  } catch (const std::bad_alloc&) {   // the sender has left, so the task receives nothing
  }
  //! [/receive]

  //! [connect]
  // hiredis keeps the commands until it is connected. It frees the context after an error.
  void connect() {
    struct closer {
      void operator()(redisAsyncContext* c) const { redisAsyncFree(c); }
    };
    std::unique_ptr<redisAsyncContext, closer> context(redisAsyncConnectUnix(path_.c_str()));
    if (!context) throw std::bad_alloc();
    if (context->err) throw lost("connect to " + path_, context->errstr);
    context->data = this;
    events::attach(context.get(), context_);
    context_ = context.release();
  }
  //! [/connect]

  std::string path_;
  std::chrono::milliseconds patience_;
  std::chrono::steady_clock::time_point last_reply_;  // or when the first open command was sent
  std::size_t open_ = 0;                              // commands that hiredis has
  leat::semaphore permits_;
  redisAsyncContext* context_ = nullptr;
};

}  // namespace redis
