#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "leat/async/scheduler/timer_heap.hpp"
#include "leat/base/clock.hpp"
#include "leat/net/connection.hpp"
#include "leat/net/listener_statistics.hpp"
#include "leat/net/network_backend.hpp"
#include "leat/sync/synchronizer.hpp"

namespace LEAT::detail {

/// A listener, shared with its operations, which may outlive it.
///
/// An operation under a limit or in a select takes a connection of the kernel at once, or waits.
/// ready() takes connections for the operations that wait, on the scheduler of the listener, and
/// lets the back end wait for more. A connection whose operation does not use its result stays in
/// `taken_`.
class listener_state final : public synchronizer,
                             public std::enable_shared_from_this<listener_state> {
 public:
  listener_state(scheduler& s, std::unique_ptr<network_acceptor> a);
  ~listener_state() override { unregister(); }

  [[nodiscard]] scheduler& get_scheduler() const noexcept { return scheduler_; }
  [[nodiscard]] const endpoint& local() const noexcept { return local_; }
  [[nodiscard]] listener_statistics statistics() const;
  [[nodiscard]] bool is_open() const;
  void close() noexcept;

  // -- For the operation.
  [[nodiscard]] bool try_accept();
  /// An operation is about to wait: looks for connections soon.
  void begin_arrival() noexcept;
  /// The operation waits now, or has ended.
  void end_arrival() noexcept;
  /// An operation is gone.
  void leave() noexcept;
  void put_back() noexcept;
  /// Takes a connection that was granted, and attaches it to `on`. Errors: those of attach();
  /// cancelled, if the operation ended because the listener was closed.
  [[nodiscard]] connection take(wait_outcome o, scheduler* on);

 private:
  struct ready_item : work_item {
    explicit ready_item(listener_state& s) noexcept : self(s) {
      run_ = [](work_item& item) noexcept { static_cast<ready_item&>(item).self.ready(); };
    }
    listener_state& self;
  };
  struct pause : timer {
    explicit pause(listener_state& s) noexcept : timer(&end_pause), self(s) {}
    listener_state& self;
  };

  bool is_ready(const synchronizer_waiter&) const noexcept override {
    return taken_.size() > granted_;
  }
  void grant(synchronizer_waiter&) noexcept override { ++granted_; }
  [[nodiscard]] wait_outcome outcome_if_closed(const synchronizer_waiter&) const noexcept override {
    return acceptor_ ? wait_outcome::waiting : wait_outcome::closed;
  }
  void append_state_to(std::string& text) const override;

  [[nodiscard]] bool accept_one() LEAT_REQUIRES(mutex_);
  void ready() noexcept;
  static void end_pause(timer& t) noexcept;
  void set_exhausted(std::error_code ec) LEAT_REQUIRES(mutex_);
  void end(std::error_code why) noexcept;

  scheduler& scheduler_;
  const endpoint local_;
  std::unique_ptr<network_acceptor> acceptor_;  // null: closed
  std::error_code broken_;                      // why it was closed, if that was an error
  std::vector<std::unique_ptr<network_stream>> taken_;
  std::size_t granted_ = 0;   // of `taken_`: for operations that have not resumed yet
  std::size_t arriving_ = 0;  // operations that are about to wait
  std::uint64_t accepted_ = 0;
  std::uint64_t failed_ = 0;
  ready_item ready_{*this};
  bool is_watching_ = false;  // `ready_` is posted, or will be
  pause pause_{*this};
  bool is_paused_ = false;     // the timer is set
  std::error_code exhausted_;  // while there are no descriptors or no memory
  time_point exhausted_since_{};
  duration next_pause_{};
  time_point reported_at_ = time_point::min();
};

/// The wait for a connection.
struct accept_operation : synchronizer_operation<listener_state> {
  static constexpr auto wait_kind = synchronizer_waiter::kind_of("accept from", "listener");
  static constexpr bool result_matters = true;

  accept_operation(std::shared_ptr<listener_state> l, scheduler* belongs_to) noexcept
      : synchronizer_operation(l.get()), state(std::move(l)), on(belongs_to) {}
  accept_operation(accept_operation&&) noexcept = default;
  accept_operation& operator=(accept_operation&&) = delete;
  ~accept_operation() {
    if (state) state->leave();
  }

  static std::size_t request() noexcept { return 1; }
  [[nodiscard]] static bool try_quickly(caller) noexcept { return false; }
  [[nodiscard]] bool try_complete(caller) const { return state->try_accept(); }
  static bool begin(synchronizer_waiter& w) {
    // Another thread may resume the task before the end of this function.
    const std::shared_ptr<listener_state> keeps = object_of(w).shared_from_this();
    keeps->begin_arrival();
    const bool ended = synchronizer_operation::begin(w);
    keeps->end_arrival();
    return ended;
  }
  void undo(waiter&) const noexcept { state->put_back(); }
  [[nodiscard]] connection result(wait_outcome o) const { return state->take(o, on); }

  std::shared_ptr<listener_state> state;
  scheduler* on;
};

}  // namespace LEAT::detail
