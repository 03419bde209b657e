#pragma once

#include <memory>
#include <optional>
#include <source_location>
#include <system_error>
#include <utility>

#include <asio/associated_allocator.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>

#include "leat/core/error.hpp"
#include "leat/sync/detail/queue_verbs.hpp"

namespace leat::detail {

/// A queue operation with an Asio completion handler instead of a coroutine.
///
/// Lives in memory of the handler's allocator until it has been delivered on the handler's
/// executor: only there is it taken apart, so a cancellation emitted there always finds it whole.
template <class Queue, class Verb, class Handler>
class async_queue_operation final : private Verb, private queue_waiter {
 public:
  template <class... Arguments>
  static void start(Queue& q, Handler handler, const std::source_location& where,
                    Arguments&&... arguments) {
    auto allocator = rebound(asio::get_associated_allocator(handler));
    using traits = std::allocator_traits<decltype(allocator)>;
    auto* const self = traits::allocate(allocator, 1);
    try {
      traits::construct(allocator, self, q, std::move(handler), where,
                        std::forward<Arguments>(arguments)...);
    } catch (...) {
      traits::deallocate(allocator, self, 1);
      throw;
    }
    self->begin(q);
  }

  template <class... Arguments>
  async_queue_operation(Queue& q, Handler&& handler, const std::source_location& where,
                        Arguments&&... arguments)
      : Verb{std::forward<Arguments>(arguments)...},
        queue_waiter(q, Verb::the_role, Verb::items(), Verb::count(), where),
        handler_(std::move(handler)),
        work_(asio::make_work_guard(handler_)) {
    this->run_ = [](work_item& item) noexcept {
      static_cast<async_queue_operation&>(static_cast<queue_waiter&>(item)).deliver();
    };
  }

 private:
  template <class Allocator>
  static auto rebound(const Allocator& a) {
    return
        typename std::allocator_traits<Allocator>::template rebind_alloc<async_queue_operation>(a);
  }

  void begin(Queue& q) {
    listen();
    if (Verb::try_at_once(q)) {
      this->outcome_ = queue_outcome::done;
      deliver();
    } else if (q.begin(*this)) {
      deliver();
    }
  }

  void listen() {
    auto cancellation = asio::get_associated_cancellation_slot(handler_);
    if (!cancellation.is_connected()) return;
    cancellation.assign([this](asio::cancellation_type) { queue_waiter::cancel(*this); });
  }

  struct delivery {
    using allocator_type = asio::associated_allocator_t<Handler>;
    async_queue_operation* self;
    allocator_type get_allocator() const noexcept {
      return asio::get_associated_allocator(self->handler_);
    }
    void operator()() const { self->finish(); }
  };

  void deliver() { asio::post(work_.get_executor(), delivery{this}); }

  void finish() {
    auto cancellation = asio::get_associated_cancellation_slot(handler_);
    if (cancellation.is_connected()) cancellation.clear();
    std::error_code ec;
    decltype(Verb::result(this->outcome_, this->moved_)) outcome{};
    if (this->outcome_ == queue_outcome::failed) {
      ec = to_error_code(this->queue_.failure_cause());
    } else if (this->outcome_ == queue_outcome::cancelled) {
      ec = make_error_code(errc::cancelled);
    } else {
      outcome = Verb::result(this->outcome_, this->moved_);
    }
    Handler handler(std::move(handler_));
    const auto work = std::move(work_);
    auto allocator = rebound(asio::get_associated_allocator(handler));
    using traits = std::allocator_traits<decltype(allocator)>;
    traits::destroy(allocator, this);
    traits::deallocate(allocator, this, 1);
    std::move(handler)(ec, std::move(outcome));
  }

  Handler handler_;
  asio::executor_work_guard<asio::associated_executor_t<Handler>> work_;
};

template <class Queue, class Token>
auto initiate_push(Queue& q, typename Queue::value_type&& value, Token&& token,
                   const std::source_location& where) {
  using value_type = typename Queue::value_type;
  return asio::async_initiate<Token, void(std::error_code, bool)>(
      [&q, where](auto&& handler, value_type v) {
        using handler_type = std::decay_t<decltype(handler)>;
        async_queue_operation<Queue, push_copy_verb<value_type>, handler_type>::start(
            q, std::forward<decltype(handler)>(handler), where, std::move(v));
      },
      token, std::move(value));
}

template <class Queue, class Token>
auto initiate_pop(Queue& q, Token&& token, const std::source_location& where) {
  using value_type = typename Queue::value_type;
  return asio::async_initiate<Token, void(std::error_code, std::optional<value_type>)>(
      [&q, where](auto&& handler) {
        using handler_type = std::decay_t<decltype(handler)>;
        async_queue_operation<Queue, pop_verb<value_type>, handler_type>::start(
            q, std::forward<decltype(handler)>(handler), where);
      },
      token);
}

}  // namespace leat::detail
