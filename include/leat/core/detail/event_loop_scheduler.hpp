#pragma once

#include <memory>
#include <utility>

#include "leat/core/scheduler.hpp"

namespace leat::detail {

/// An eventfd by which a scheduler hears of what happens outside of the process, such as the
/// completions of a ring. Thread-bound to the scheduler.
class event_listener {
 public:
  event_listener() = default;
  event_listener(const event_listener&) = delete;
  event_listener& operator=(const event_listener&) = delete;
  virtual ~event_listener() = default;

  /// The eventfd.
  [[nodiscard]] virtual int descriptor() const noexcept = 0;

  /// Posts `item` to the scheduler once the eventfd has been written to; maybe for a write that
  /// came before. One at a time: listen again after the item has run.
  virtual void listen(work_item& item) noexcept = 0;
};

/// What the schedulers of real event loops have in common: files that the I/O layer makes for them
/// and that end with them.
class event_loop_scheduler : public scheduler {
 public:
  /// Errors: those of the system; std::bad_alloc.
  [[nodiscard]] virtual std::unique_ptr<event_listener> make_listener() = 0;

  /// set_files(), and keeps them alive.
  void own_files(std::shared_ptr<file_backend> files) noexcept {
    owned_ = std::move(files);
    set_files(owned_.get());
  }

 protected:
  ~event_loop_scheduler() = default;

  /// For the end of a driver, while it still can do what the files want of it.
  void drop_files() noexcept {
    owned_.reset();
    set_files(nullptr);
  }

 private:
  std::shared_ptr<file_backend> owned_;
};

}  // namespace leat::detail
