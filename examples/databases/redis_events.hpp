#pragma once

#include <exception>
#include <memory>

#include <asio/posix/stream_descriptor.hpp>
#include <hiredis/async.h>
#include <leat/leat.hpp>

namespace redis {

//! [events]
/// Waits for the descriptor of a connection on behalf of hiredis. hiredis calls the hooks, and
/// frees the adapter when it closes the connection.
class events : public std::enable_shared_from_this<events> {
 public:
  // Sets `owner` to null when hiredis closes the connection.
  static void attach(redisAsyncContext* context, redisAsyncContext*& owner) {
    const auto e = std::make_shared<events>(context, owner);
    e->self_ = e;
    context->ev = {e.get(),
                   &on<&events::add_read>,
                   &on<&events::remove_read>,
                   &on<&events::add_write>,
                   &on<&events::remove_write>,
                   &on<&events::clean_up>};
  }
  events(redisAsyncContext* context, redisAsyncContext*& owner)
      : context_(context),
        owner_(owner),
        socket_(leat::get_executor(leat::this_task::get_scheduler()), context->c.fd) {}

  // Call it after each call of hiredis: without a wait, no command of the connection would end.
  void close_if_failed() {
    if (context_ && has_failed_) redisAsyncFree(context_);
  }

 private:
  struct direction {
    asio::posix::stream_descriptor::wait_type type;
    void (*handle)(redisAsyncContext*);
    bool is_wanted = false, is_waiting = false;
  };

  template <void (events::*hook)()>
  static void on(void* self) noexcept {
    (static_cast<events*>(self)->*hook)();
  }
  void add_read() { want(read_); }
  void remove_read() { read_.is_wanted = false; }
  void add_write() { want(write_); }
  void remove_write() { write_.is_wanted = false; }
  void clean_up() {
    context_ = owner_ = nullptr;
    socket_.release();  // hiredis closes the descriptor
    const auto last = std::move(self_);
  }

  void want(direction& d) noexcept try {
    d.is_wanted = true;
    if (d.is_waiting) return;
    socket_.async_wait(d.type, [e = shared_from_this(), &d](leat::asio_error_code ec) {
      d.is_waiting = false;
      if (ec) e->has_failed_ = true;
      const auto is_ready = [&] { return e->context_ && d.is_wanted && !e->has_failed_; };
      if (is_ready()) d.handle(e->context_);  // may call the hooks, also clean_up()
      if (is_ready()) e->want(d);
      e->close_if_failed();
    });
    d.is_waiting = true;
  } catch (const std::exception&) {  // close_if_failed() follows when hiredis has returned
    has_failed_ = true;
  }

  redisAsyncContext* context_;  // null after clean_up()
  redisAsyncContext*& owner_;
  asio::posix::stream_descriptor socket_;
  direction read_{asio::posix::stream_descriptor::wait_read, &redisAsyncHandleRead};
  direction write_{asio::posix::stream_descriptor::wait_write, &redisAsyncHandleWrite};
  bool has_failed_ = false;
  std::shared_ptr<events> self_;
};
//! [/events]

}  // namespace redis
