#include "leat/async/loop/internal/event_loop_scheduler.hpp"

namespace LEAT::detail {

void event_loop_scheduler::add(listening_object& object) noexcept {
  const std::lock_guard lock(objects_mutex_);
  object.following_ = objects_;
  if (objects_) objects_->previous_ = &object;
  objects_ = &object;
}

void event_loop_scheduler::remove(listening_object& object) noexcept {
  const std::lock_guard lock(objects_mutex_);
  (object.previous_ ? object.previous_->following_ : objects_) = object.following_;
  if (object.following_) object.following_->previous_ = object.previous_;
  object.previous_ = object.following_ = nullptr;
}

bool event_loop_scheduler::complete_services() noexcept {
  if (!is_of_this_process()) return false;
  for (const owned_service& owned : owned_) owned.complete(owned.service.get(), *this);
  return true;
}

void event_loop_scheduler::end(std::string_view what) noexcept {
  end_tasks(what);
  for (;;) {
    listening_object* object = nullptr;
    {
      const std::lock_guard lock(objects_mutex_);
      object = objects_;
    }
    if (!object) break;
    // Removed first, and called without the lock: it may destroy itself, or remove other objects.
    remove(*object);
    object->on_scheduler_end();
  }
  if (started_tasks() == 0) on_tasks_ended();
}

void event_loop_scheduler::on_tasks_ended() noexcept {
  owned_.clear();
  clear_services();
}

}  // namespace LEAT::detail
