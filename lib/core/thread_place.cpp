#include "leat/core/detail/thread_place.hpp"

#include <chrono>
#include <utility>

#include "thread_registry.hpp"

namespace leat::detail {

namespace {

constinit thread_local thread_place* of_this_thread = nullptr;

}  // namespace

constinit thread_place* thread_registry::newest_ = nullptr;

std::mutex& thread_registry::mutex() noexcept {
  static std::mutex instance;
  return instance;
}

void thread_registry::add(thread_place& place) noexcept {
  const std::lock_guard lock(mutex());
  place.following_ = newest_;
  if (newest_) newest_->previous_ = &place;
  newest_ = &place;
}

void thread_registry::remove(thread_place& place) noexcept {
  const std::lock_guard lock(mutex());
  (place.previous_ ? place.previous_->following_ : newest_) = place.following_;
  if (place.following_) place.following_->previous_ = place.previous_;
}

thread_place::thread_place(task_id id, std::string name) : id_(id), name_(std::move(name)) {
  thread_registry::add(*this);
}

thread_place::~thread_place() { thread_registry::remove(*this); }

thread_place::occupied::occupied(thread_place& place) noexcept { of_this_thread = &place; }

thread_place::occupied::~occupied() { of_this_thread = nullptr; }

thread_place::blocked::blocked(const wait& w) noexcept {
  if (!of_this_thread) return;
  const std::lock_guard lock(thread_registry::mutex());
  of_this_thread->blocked_on_ = &w;
  of_this_thread->since_ = std::chrono::steady_clock::now();
}

thread_place::blocked::~blocked() {
  if (!of_this_thread) return;
  const std::lock_guard lock(thread_registry::mutex());
  of_this_thread->blocked_on_ = nullptr;
}

task_id thread_place::current_id() noexcept {
  return of_this_thread ? of_this_thread->id() : task_id{};
}

task_id thread_place::id_if_blocked_on(const wait& w) noexcept {
  return of_this_thread && of_this_thread->blocked_on_ == &w ? of_this_thread->id() : task_id{};
}

}  // namespace leat::detail
