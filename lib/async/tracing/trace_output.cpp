#include "async/tracing/trace_output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <utility>

#include "base/internal/standard_descriptors.hpp"
#include "base/internal/system_call.hpp"
#include "leat/base/error.hpp"

namespace LEAT::detail {

namespace {

int open_new_file(const std::string& path) {
  const std::int64_t opened = retry_on_eintr(
      [&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666); });
  const int number = opened < 0 ? static_cast<int>(opened)
                                : move_above_standard_descriptors(static_cast<int>(opened));
  if (number >= 0) return number;
  throw failure(std::error_code(-number, std::generic_category()),
                "trace_file: cannot create '" + path + "'");
}

}  // namespace

trace_output::trace_output(std::string path, std::uint64_t max_bytes)
    : path_(std::move(path)), max_bytes_(max_bytes), descriptor_(open_new_file(path_)) {}

trace_output::~trace_output() { close_file(); }

// Any thread adds texts; one thread, which runs write_until_closed(), writes them and alone uses
// the descriptor, `written_` and `error_` until it has set has_ended_ under the lock. is_open_ is
// only a hint that saves the lock: accepted_, which the lock guards, decides about the limit.
bool trace_output::add(std::string& text) noexcept {
  if (!is_open()) return false;
  try {
    const std::lock_guard lock(mutex_);
    if (accepted_ + text.size() + reserve > max_bytes_) {
      is_full_.store(true, std::memory_order_relaxed);
      is_open_.store(false, std::memory_order_relaxed);
      return false;
    }
    if (waiting_bytes_ + text.size() > max_waiting) return false;
    const std::size_t size = text.size();
    waiting_.push_back(std::move(text));
    waiting_bytes_ += size;
    accepted_ += size;
  } catch (const std::bad_alloc&) {
    return false;
  }
  text.clear();
  changed_.notify_all();
  return true;
}

void trace_output::write_until_closed(const std::function<void()>& collect) noexcept {
  std::unique_lock lock(mutex_);
  for (auto next = std::chrono::steady_clock::now() + interval;;) {
    const bool is_due = !changed_.wait_until(
        lock, next, [this]() noexcept { return is_closing_ || !waiting_.empty(); });
    if (!waiting_.empty()) {
      const std::string text = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      write(text);
      lock.lock();
      // Only now: a text that is being written counts as waiting, which bounds the memory.
      waiting_bytes_ -= text.size();
    } else if (is_closing_) {
      break;
    }
    if (is_due || std::chrono::steady_clock::now() >= next) {
      lock.unlock();
      collect();
      lock.lock();
      next = std::chrono::steady_clock::now() + interval;
    }
  }
  lock.unlock();
  write(last_);
  close_file();
  lock.lock();
  has_ended_ = true;
  changed_.notify_all();
}

void trace_output::write(std::string_view text) noexcept {
  while (!text.empty() && !error_) {
    const std::int64_t count =
        retry_on_eintr([&] { return ::write(descriptor_, text.data(), text.size()); });
    if (count < 0) {
      error_ = std::error_code(static_cast<int>(-count), std::generic_category());
      is_open_.store(false, std::memory_order_relaxed);
    } else {
      written_ += static_cast<std::uint64_t>(count);
      text.remove_prefix(static_cast<std::size_t>(count));
    }
  }
}

// A scheduler that sleeps can keep this object, but not the file.
void trace_output::close_file() noexcept {
  if (descriptor_ < 0) return;
  const int result = ::close(std::exchange(descriptor_, -1));
  // After EINTR too, Linux has closed the file.
  if (result != 0 && errno != EINTR && !error_)
    error_ = std::error_code(errno, std::generic_category());
}

std::error_code trace_output::close(std::string last, std::uint64_t& offset) noexcept {
  is_open_.store(false, std::memory_order_relaxed);
  std::unique_lock lock(mutex_);
  last_ = std::move(last);
  is_closing_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this]() noexcept { return has_ended_; });
  offset = written_;
  return error_;
}

}  // namespace LEAT::detail
