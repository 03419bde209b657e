#include "leat/async/internal/thread_record.hpp"

#include <chrono>
#include <utility>

#include "async/thread_registry.hpp"

namespace LEAT::detail {

constinit thread_local thread_record* thread_record::current_ = nullptr;

constinit thread_record* thread_registry::newest_ = nullptr;

std::mutex& thread_registry::mutex() noexcept {
  static std::mutex instance;
  return instance;
}

void thread_registry::add(thread_record& record) noexcept {
  const std::lock_guard lock(mutex());
  record.following_ = newest_;
  if (newest_) newest_->previous_ = &record;
  newest_ = &record;
}

void thread_registry::remove(thread_record& record) noexcept {
  const std::lock_guard lock(mutex());
  (record.previous_ ? record.previous_->following_ : newest_) = record.following_;
  if (record.following_) record.following_->previous_ = record.previous_;
}

thread_record::thread_record(task_id id, std::string name, bool started_elsewhere)
    : id_(id), name_(std::move(name)), started_elsewhere_(started_elsewhere) {
  thread_registry::add(*this);
}

thread_record::~thread_record() { thread_registry::remove(*this); }

thread_record::current::current(thread_record& record, std::stop_token stop) noexcept {
  record.stop_ = std::move(stop);
  current_ = &record;
}

thread_record::current::~current() { current_ = nullptr; }

thread_record::blocked::blocked(const wait_operation& w) noexcept {
  if (!current_) return;
  const std::lock_guard lock(thread_registry::mutex());
  current_->blocked_on_ = &w;
  current_->since_ = std::chrono::steady_clock::now();
}

thread_record::blocked::~blocked() {
  if (!current_) return;
  const std::lock_guard lock(thread_registry::mutex());
  current_->blocked_on_ = nullptr;
}

std::stop_token thread_record::stop_token() noexcept {
  return current_ ? current_->stop_ : std::stop_token();
}

task_id thread_record::current_id() noexcept { return current_ ? current_->id() : task_id{}; }

task_id thread_record::id_if_blocked_on(const wait_operation& w) noexcept {
  return current_ && current_->blocked_on_ == &w ? current_->id() : task_id{};
}

}  // namespace LEAT::detail
