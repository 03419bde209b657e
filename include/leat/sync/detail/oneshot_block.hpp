#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "leat/base/internal/frame_allocator.hpp"
#include "leat/sync/synchronizer.hpp"

namespace LEAT::detail {

/// The block that the two ends of a oneshot share: the part that does not depend on its type.
///
/// Each end leaves once. The last one destroys the block.
class oneshot_base : public synchronizer {
 public:
  /// The value of synchronizer_waiter::request().
  enum request : std::size_t {
    value,           ///< a value, or that the sender leaves
    receiver_leaves  ///< that the receiver leaves
  };

  /// Returns true if a receive need not wait; end_read() follows.
  [[nodiscard]] bool try_read() noexcept {
    const lock_type lock(mutex_);
    if (!has_value_ && !sender_gone_) return false;
    ++reads_;
    return true;
  }
  void end_read() noexcept {
    const lock_type lock(mutex_);
    --reads_;
  }
  [[nodiscard]] bool has_no_receiver() const noexcept {
    const lock_type lock(mutex_);
    return receiver_gone_;
  }

  enum class end : bool { sender, receiver };
  /// Called once by each end.
  void leave(end which) noexcept;

  static const wait_operation::kind receive_kind;
  static const wait_operation::kind closed_kind;

 protected:
  explicit oneshot_base(std::string name) noexcept
      : synchronizer("oneshot", order::as_ready, std::move(name)) {
    omit_waits_of_tasks();  // there may be millions of them
  }

  bool has_value_ LEAT_GUARDED_BY(mutex_) = false;
  bool sender_gone_ LEAT_GUARDED_BY(mutex_) = false;
  bool receiver_gone_ LEAT_GUARDED_BY(mutex_) = false;

 private:
  [[nodiscard]] bool is_ready(const synchronizer_waiter& w) const noexcept override
      LEAT_REQUIRES(mutex_) {
    return w.request() == request::value ? has_value_ || sender_gone_ : receiver_gone_;
  }
  void grant(synchronizer_waiter& w) noexcept override LEAT_REQUIRES(mutex_) {
    if (w.request() == request::value) ++reads_;
  }
  [[nodiscard]] std::size_t requested(const synchronizer_waiter&) const noexcept override {
    return 1;
  }
  void append_state_to(std::string&) const override LEAT_REQUIRES(mutex_) {}
  void inspect(const synchronizer_waiter&, wait_target&) const override LEAT_REQUIRES(mutex_) {}

  std::size_t reads_ LEAT_GUARDED_BY(mutex_) = 0;  // receives that have completed and not resumed
  std::atomic<int> ends_{2};
};

template <class T>
class oneshot_block final : public oneshot_base {
 public:
  explicit oneshot_block(std::string name) noexcept : oneshot_base(std::move(name)) {}
  ~oneshot_block() override { unregister(); }

  static void* operator new(std::size_t size) { return allocate_frame(size); }
  static void operator delete(void* memory, std::size_t size) noexcept { free_frame(memory, size); }

  /// Returns false, without effect, if the receiver has left.
  [[nodiscard]] bool store(T& from) noexcept {
    work_list woken;
    {
      const lock_type lock(mutex_);
      if (receiver_gone_) return false;
      value_.emplace(std::move(from));
      has_value_ = true;
      woken = serve();
    }
    wake_all(woken);
    return true;
  }

  /// Returns the value, or an empty optional if there is none or it has been taken.
  [[nodiscard]] std::optional<T> take() noexcept {
    const lock_type lock(mutex_);
    return std::exchange(value_, std::nullopt);
  }

 private:
  std::optional<T> value_ LEAT_GUARDED_BY(mutex_);
};

}  // namespace LEAT::detail
