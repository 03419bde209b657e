#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "leat/sync/synchronizer.hpp"

namespace LEAT::detail {

/// The version number of a watch: the part that does not depend on the type of its value.
class watch_base : public synchronizer {
 public:
  /// Closes the watch: waits for a change end, and so do later ones. The value stays readable.
  /// Returns false if it was closed before.
  bool close() noexcept;
  /// Returns true after close().
  [[nodiscard]] bool is_closed() const noexcept {
    const lock_type lock(mutex_);
    return closed_;
  }

 protected:
  explicit watch_base(std::string name) noexcept
      : synchronizer("watch", order::as_ready, std::move(name)) {}
  /// Ends the process with a message if a task was woken and has not read the value.
  ~watch_base() override;

  /// Increments the version and returns the operations to wake.
  [[nodiscard]] work_list count_change() noexcept LEAT_REQUIRES(mutex_) {
    ++version_;
    return waiting_.empty() ? work_list() : serve();
  }
  /// An operation that has completed reads the value later: between the two calls.
  void expect_read() noexcept LEAT_REQUIRES(mutex_) { ++unread_; }
  void finish_read() noexcept LEAT_REQUIRES(mutex_) { --unread_; }

  static const wait_operation::kind change_kind;

  std::uint64_t version_ LEAT_GUARDED_BY(mutex_) = 0;
  bool closed_ LEAT_GUARDED_BY(mutex_) = false;

 private:
  [[nodiscard]] bool is_ready(const synchronizer_waiter& w) const noexcept override
      LEAT_REQUIRES(mutex_) {
    return version_ != w.request();
  }
  void grant(synchronizer_waiter&) noexcept override LEAT_REQUIRES(mutex_) { expect_read(); }
  [[nodiscard]] wait_outcome outcome_if_closed(const synchronizer_waiter& w) const noexcept override
      LEAT_REQUIRES(mutex_) {
    return closed_ && version_ == w.request() ? wait_outcome::closed : wait_outcome::waiting;
  }
  [[nodiscard]] std::size_t requested(const synchronizer_waiter&) const noexcept override {
    return 1;
  }
  void append_state_to(std::string& text) const override LEAT_REQUIRES(mutex_);
  void inspect(const synchronizer_waiter&, wait_target& target) const override
      LEAT_REQUIRES(mutex_) {
    target.closed = closed_;
  }

  std::size_t unread_ LEAT_GUARDED_BY(mutex_) = 0;  // operations that have completed
};

}  // namespace LEAT::detail
