#pragma once

#include <exception>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "leat/net/connection.hpp"
#include "leat/net/connection_options.hpp"
#include "leat/net/endpoint.hpp"
#include "leat/sync/synchronizer.hpp"

namespace LEAT::detail {

/// A connect() in progress: a task of its own tries the addresses, so that the one that waits may
/// leave at any time.
class connect_state final : public synchronizer,
                            public std::enable_shared_from_this<connect_state> {
 public:
  connect_state(scheduler* on, endpoint to, connection_options options)
      : synchronizer("endpoint", order::as_ready, to.text()),
        on_(on),
        to_(std::move(to)),
        options_(options) {
    omit_waits_of_tasks();
  }
  ~connect_state() override { unregister(); }

  /// Starts the task, on `on_` or on the scheduler of `w`. Errors: failed_precondition;
  /// std::bad_alloc.
  void start(const synchronizer_waiter& w);
  /// Ends the task, and closes its connections. Thread safety: thread-safe.
  void stop() noexcept { stop_.request_stop(); }
  /// Takes the connection, or throws the error.
  [[nodiscard]] connection take();

 private:
  // Starts the task from another thread.
  struct starter : work_item {
    std::shared_ptr<connect_state> state;
  };

  class end_guard;

  static task<> run(std::shared_ptr<connect_state> self, network_backend& network);
  void start_here(scheduler& on);
  void ended(connection c, std::exception_ptr error) noexcept;

  bool is_ready(const synchronizer_waiter&) const noexcept override { return done_; }
  void grant(synchronizer_waiter&) noexcept override {}
  void append_state_to(std::string&) const override {}

  scheduler* const on_;
  const endpoint to_;
  const connection_options options_;
  std::stop_source stop_;
  starter starter_;
  std::exception_ptr error_;
  connection made_;
  bool done_ = false;
};

/// The wait for it.
struct connect_operation : synchronizer_operation<connect_state> {
  static constexpr auto wait_kind = synchronizer_waiter::kind_of("connect to", "endpoint");
  static constexpr bool result_matters = true;

  connect_operation(scheduler* on, endpoint to, connection_options options)
      : connect_operation(std::make_shared<connect_state>(on, std::move(to), options)) {}
  connect_operation(connect_operation&&) noexcept = default;
  connect_operation& operator=(connect_operation&&) = delete;
  ~connect_operation() {
    if (state) state->stop();
  }

  static std::size_t request() noexcept { return 1; }
  static bool try_complete(caller) noexcept { return false; }
  static bool begin(synchronizer_waiter& w) {
    object_of(w).start(w);
    return synchronizer_operation::begin(w);
  }
  static void undo(waiter&) noexcept {}  // the destructor closes the connection
  [[nodiscard]] connection result(wait_outcome) const { return state->take(); }

  std::shared_ptr<connect_state> state;

 private:
  explicit connect_operation(std::shared_ptr<connect_state> s) noexcept
      : synchronizer_operation(s.get()), state(std::move(s)) {}
};

}  // namespace LEAT::detail
