#pragma once

#include <memory>
#include <mutex>
#include <unistd.h>
#include <utility>
#include <vector>

#include "leat/async/scheduler/scheduler_driver.hpp"

namespace LEAT::detail {

/// An eventfd that reports external events to a scheduler, such as the completions of a ring.
/// Thread-bound to the scheduler.
class event_listener {
 public:
  event_listener() = default;
  event_listener(const event_listener&) = delete;
  event_listener& operator=(const event_listener&) = delete;
  virtual ~event_listener() = default;

  /// The eventfd.
  [[nodiscard]] virtual int descriptor() const noexcept = 0;

  /// Posts `item` to the scheduler when the eventfd is written to, or for an earlier write. One at
  /// a time: listen again after the item has run.
  virtual void listen(work_item& item) noexcept = 0;
};

/// An object that uses an event listener and may outlive its scheduler.
class listening_object {
 public:
  /// Called when the scheduler is being destroyed, on the thread that destroys it. It must destroy
  /// the listener.
  virtual void on_scheduler_end() noexcept = 0;

 protected:
  virtual ~listening_object() = default;

 private:
  friend class event_loop_scheduler;
  listening_object* previous_ = nullptr;
  listening_object* following_ = nullptr;
};

/// The base of the schedulers of real event loops. It owns the services that the I/O layer creates,
/// and destroys them when it ends.
class event_loop_scheduler : public scheduler_driver {
 public:
  /// Errors: system errors; std::bad_alloc.
  [[nodiscard]] virtual std::unique_ptr<event_listener> make_listener() = 0;

  /// Calls set_service() and keeps the service alive. While the scheduler ends its tasks, it calls
  /// Complete(service, scheduler), which completes the requests that have ended.
  /// Errors: std::bad_alloc.
  template <auto Complete, class Service>
  void own_service(std::shared_ptr<Service> service) {
    Service* const object = service.get();
    owned_.push_back({std::move(service), [](void* owned, scheduler& sched) noexcept {
                        Complete(*static_cast<Service*>(owned), sched);
                      }});
    set_service<Service>(object);
  }

  /// Notifies `object` when the scheduler ends, unless it is removed before. Thread safety:
  /// thread-safe.
  void add(listening_object& object) noexcept;
  void remove(listening_object& object) noexcept;

 protected:
  ~event_loop_scheduler() = default;

  /// False in a child of fork().
  [[nodiscard]] bool is_of_this_process() const noexcept { return process_ == ::getpid(); }

  /// Calls end_tasks(), and then destroys the services while the driver can still serve them. If
  /// tasks are left, because code outside leat uses their frames, the services stay until
  /// continue_end() or end_pinned_tasks() has ended these.
  void end(std::string_view what) noexcept;

  /// Destroys the services.
  void on_tasks_ended() noexcept override;

 private:
  bool complete_services() noexcept override;

  struct owned_service {
    std::shared_ptr<void> service;
    void (*complete)(void* service, scheduler& sched) noexcept;
  };

  const pid_t process_ = ::getpid();
  std::vector<owned_service> owned_;
  std::mutex objects_mutex_;
  listening_object* objects_ = nullptr;
};

}  // namespace LEAT::detail
