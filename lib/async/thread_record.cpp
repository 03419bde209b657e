#include "leat/async/detail/thread_record.hpp"

#include <chrono>
#include <utility>

#include "async/thread_registry.hpp"

namespace leat::detail {

constinit thread_local thread_place* thread_place::current_ = nullptr;

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

thread_place::thread_place(task_id id, std::string name, bool started_elsewhere)
    : id_(id), name_(std::move(name)), started_elsewhere_(started_elsewhere) {
  thread_registry::add(*this);
}

thread_place::~thread_place() { thread_registry::remove(*this); }

thread_place::occupied::occupied(thread_place& place, std::stop_token stop) noexcept {
  place.stop_ = std::move(stop);
  current_ = &place;
}

thread_place::occupied::~occupied() { current_ = nullptr; }

thread_place::blocked::blocked(const wait& w) noexcept {
  if (!current_) return;
  const std::lock_guard lock(thread_registry::mutex());
  current_->blocked_on_ = &w;
  current_->since_ = std::chrono::steady_clock::now();
}

thread_place::blocked::~blocked() {
  if (!current_) return;
  const std::lock_guard lock(thread_registry::mutex());
  current_->blocked_on_ = nullptr;
}

std::stop_token thread_place::stop_token() noexcept {
  return current_ ? current_->stop_ : std::stop_token();
}

task_id thread_place::current_id() noexcept { return current_ ? current_->id() : task_id{}; }

task_id thread_place::id_if_blocked_on(const wait& w) noexcept {
  return current_ && current_->blocked_on_ == &w ? current_->id() : task_id{};
}

}  // namespace leat::detail
