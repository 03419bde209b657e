#pragma once

#include <memory>
#include <mutex>
#include <unistd.h>
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

/// Something that uses an event listener and may outlive its scheduler.
class listening_object {
 public:
  /// The scheduler is being destroyed: the listener has to be destroyed within this call. Called
  /// on the thread that destroys the scheduler.
  virtual void scheduler_ends() noexcept = 0;

 protected:
  virtual ~listening_object() = default;

 private:
  friend class event_loop_scheduler;
  listening_object* previous_ = nullptr;
  listening_object* following_ = nullptr;
};

/// What the schedulers of real event loops have in common: files that the I/O layer makes for them
/// and that end with them.
class event_loop_scheduler : public scheduler {
 public:
  /// Completes the requests of a backend that have ended, and cancels those that wait for a stream.
  using complete_function = void (*)(file_backend& files, scheduler& home) noexcept;

  /// Errors: those of the system; std::bad_alloc.
  [[nodiscard]] virtual std::unique_ptr<event_listener> make_listener() = 0;

  /// set_files(), and keeps them alive. `complete` is called while the scheduler ends its tasks.
  void own_files(std::shared_ptr<file_backend> files, complete_function complete) noexcept {
    owned_ = std::move(files);
    complete_ = complete;
    set_files(owned_.get());
  }

  /// Tells `object` when the scheduler ends, unless it is removed before. Thread safety:
  /// shared-safe.
  void add(listening_object& object) noexcept;
  void remove(listening_object& object) noexcept;

 protected:
  ~event_loop_scheduler() = default;

  /// False in a child of fork().
  [[nodiscard]] bool is_of_this_process() const noexcept { return process_ == ::getpid(); }

  /// end_tasks(), and then destroys the files, while the driver still can do what they need.
  void end(std::string_view what) noexcept;

 private:
  bool complete_files() noexcept override;

  const pid_t process_ = ::getpid();
  std::shared_ptr<file_backend> owned_;
  complete_function complete_ = nullptr;
  std::mutex objects_mutex_;
  listening_object* objects_ = nullptr;
};

}  // namespace leat::detail
