#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <asio/posix/stream_descriptor.hpp>
#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <leat/leat.hpp>

/// Redis for leat tasks, through the asynchronous interface of hiredis.
namespace redis {

//! [events]
/// Waits for the descriptor of a connection on behalf of hiredis. hiredis calls the hooks, and
/// frees the adapter when it closes the connection.
class events : public std::enable_shared_from_this<events> {
 public:
  static void attach(redisAsyncContext* context) {
    const auto e = std::make_shared<events>(context);
    e->self_ = e;
    context->ev = {e.get(),
                   &on<&events::add_read>,
                   &on<&events::remove_read>,
                   &on<&events::add_write>,
                   &on<&events::remove_write>,
                   &on<&events::clean_up>};
  }
  explicit events(redisAsyncContext* context)
      : context_(context),
        socket_(leat::get_executor(leat::this_task::get_scheduler()), context->c.fd) {}

 private:
  struct direction {
    asio::posix::stream_descriptor::wait_type type;
    void (*handle)(redisAsyncContext*);
    bool is_wanted = false, is_waiting = false;
  };

  template <void (events::*hook)()>
  static void on(void* self) {
    (static_cast<events*>(self)->*hook)();
  }
  void add_read() { want(read_); }
  void remove_read() { read_.is_wanted = false; }
  void add_write() { want(write_); }
  void remove_write() { write_.is_wanted = false; }
  void clean_up() {
    context_ = nullptr;
    socket_.release();  // hiredis closes the descriptor
    const auto last = std::move(self_);
  }

  void want(direction& d) {
    d.is_wanted = true;
    if (std::exchange(d.is_waiting, true)) return;
    socket_.async_wait(d.type, [e = shared_from_this(), &d](leat::asio_error_code ec) {
      d.is_waiting = false;
      if (ec || !e->context_ || !d.is_wanted) return;
      d.handle(e->context_);  // may call the hooks, also clean_up()
      if (e->context_ && d.is_wanted) e->want(d);
    });
  }

  redisAsyncContext* context_;  // null after clean_up()
  asio::posix::stream_descriptor socket_;
  direction read_{asio::posix::stream_descriptor::wait_read, &redisAsyncHandleRead};
  direction write_{asio::posix::stream_descriptor::wait_write, &redisAsyncHandleWrite};
  std::shared_ptr<events> self_;
};
//! [/events]

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
/// commands at the same time; the server executes these in the order of the calls.
class client {
 public:
  explicit client(std::string path) : path_(std::move(path)) {}
  client(const client&) = delete;
  client& operator=(const client&) = delete;
  ~client() {
    if (context_) redisAsyncFree(std::exchange(context_, nullptr));  // ends the open commands
  }

  //! [command]
  /// Sends a command, and waits for its reply. A stop or a limit ends only the wait: the server may
  /// still execute the command, and its reply is discarded.
  template <class... Words>
  leat::task<reply> command(Words... words) {
    return send({std::string(std::move(words))...});
  }
  leat::task<reply> send(std::vector<std::string> words) {
    if (!context_) connect();
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string& word : words) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
    leat::oneshot<answer> done(words.at(0));
    auto sender = std::make_unique<leat::oneshot<answer>::sender>(std::move(done.tx));
    const int status =
        redisAsyncCommandArgv(context_, &receive, sender.get(), static_cast<int>(texts.size()),
                              texts.data(), sizes.data());
    if (status != REDIS_OK) throw lost(words[0], "the connection is being closed");
    static_cast<void>(sender.release());  // receive() destroys it; hiredis calls it once
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

  static leat::failure lost(const std::string& command, const std::string& error) {
    return {leat::errc::unavailable, command + ": " + error};
  }

  //! [receive]
  // The callback of a command. An exception must not enter hiredis, which is written in C.
  static void receive(redisAsyncContext* context, void* r, void* data) noexcept try {
    const std::unique_ptr<leat::oneshot<answer>::sender> done(
        static_cast<leat::oneshot<answer>::sender*>(data));
    answer a;
    if (r) a.value = std::make_unique<reply>(*static_cast<redisReply*>(r));
    if (!r) a.error = context->err ? context->errstr : "the connection was closed";
    done->send(std::move(a));        // has no effect if the wait was cancelled
  } catch (const std::bad_alloc&) {  // the sender has left, so the task receives nothing
  }
  //! [/receive]

  //! [connect]
  // hiredis keeps the commands until it is connected. It frees the context after an error.
  void connect() {
    redisAsyncContext* const context = redisAsyncConnectUnix(path_.c_str());
    if (!context) throw std::bad_alloc();
    if (context->err) {
      const std::string error = context->errstr;
      redisAsyncFree(context);
      throw lost("connect to " + path_, error);
    }
    context->data = this;
    events::attach(context);
    redisAsyncSetConnectCallback(context, [](const redisAsyncContext* c, int status) {
      if (status != REDIS_OK) static_cast<client*>(c->data)->context_ = nullptr;
    });
    redisAsyncSetDisconnectCallback(context, [](const redisAsyncContext* c, int) {
      static_cast<client*>(c->data)->context_ = nullptr;  // the next command connects again
    });
    context_ = context;
  }
  //! [/connect]

  std::string path_;
  redisAsyncContext* context_ = nullptr;
};

}  // namespace redis
