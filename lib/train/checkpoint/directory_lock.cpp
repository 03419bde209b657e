#include "leat/train/checkpoint/directory_lock.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <span>
#include <utility>

#include "leat/async/this_task.hpp"
#include "leat/base/bytes.hpp"
#include "leat/base/error.hpp"
#include "leat/io/backend/get_file_backend.hpp"
#include "train/checkpoint/checkpoint_paths.hpp"

namespace LEAT {
namespace {

// The text of a lock file is shorter; more of another file is not shown.
constexpr std::size_t max_content_size = 512;

// "2000-01-01 00:00:00 UTC".
std::string to_text(wall_time_point t) {
  const auto since = std::chrono::floor<std::chrono::seconds>(t);
  const auto day = std::chrono::floor<std::chrono::days>(since);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(since - day);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02u %02d:%02d:%02d UTC",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(time.hours().count()),
                static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()));
  return text.data();
}

task<std::string> read_content(file& f) {
  std::string content(max_content_size, '\0');
  const std::size_t got = co_await f.read_at(0, std::as_writable_bytes(std::span(content)));
  content.resize(got);
  co_return content;
}

// The text of the lock's holder; empty if it has not been written yet.
task<std::string> read_holder(file& f) {
  std::string content = co_await read_content(f);
  while (content.ends_with('\n')) content.pop_back();
  for (char& c : content) {
    if (c < ' ' || c > '~') c = '?';
  }
  co_return content;
}

}  // namespace

// The kernel's lock of the open file excludes other programs. The text of the file only names the
// holder, and is written after the lock is acquired. release() leaves the file: if it removed it,
// another process that has already opened the file could lock it without a name, while a third one
// locks a new file of this name. After a removal by a user, renew() acquires the lock again.

directory_lock::directory_lock(std::string directory, std::string lock_filename, file f) noexcept
    : directory_(std::move(directory)),
      lock_filename_(std::move(lock_filename)),
      file_(std::move(f)) {}

task<directory_lock> directory_lock::acquire(std::string directory, std::string lock_filename) {
  co_await make_directories(directory);
  const std::string path = detail::path_in(directory, lock_filename);
  file f = co_await file::open(path, open_mode::lock);
  const bool taken = co_await f.try_lock();
  if (!taken) {
    std::string holder = co_await read_holder(f);
    if (holder.empty()) holder = "an unknown process";
    throw failure(errc::failed_precondition,
                  directory + ": directory is locked by " + holder +
                      ": stop that process, or use another directory for a different program (lock "
                      "file " +
                      path + ")");
  }
  scheduler& sched = this_task::get_scheduler();
  const std::string content =
      get_file_backend(sched).owner_text() + " since " + to_text(sched.wall_time()) + "\n";
  directory_lock lock(std::move(directory), std::move(lock_filename), std::move(f));
  std::exception_ptr error;
  try {
    co_await lock.file_.truncate(0);
    co_await lock.file_.write_at(0, as_bytes(content));
    lock.content_ = content;
  } catch (const failure& e) {
    // A full disk does not prevent the lock.
    if (e.code() != errc::resource_exhausted) error = std::current_exception();
  } catch (...) {
    error = std::current_exception();
  }
  if (!error) co_return lock;
  try {
    // Closes at once, and not in a later step: an immediate retry must succeed.
    co_await lock.file_.close();
  } catch (const std::exception&) {  // the first error counts
  }
  std::rethrow_exception(error);
}

task<bool> directory_lock::is_there() const {
  file f;
  try {
    const file_status now = co_await get_status(path());
    const file_status& then = file_.status();
    if (now.device == then.device && now.inode == then.inode) co_return true;
    f = co_await file::open(path());
  } catch (const failure& e) {
    if (e.code() != errc::not_found) throw;
  }
  if (!f.is_open()) co_return false;
  // Some file systems change the number of a file each time; its text does not change.
  const std::string content = co_await read_content(f);
  co_return content_.empty() || content == content_;
}

task<bool> directory_lock::renew() {
  const bool there = co_await is_there();
  if (there) co_return false;
  directory_lock again = co_await acquire(directory_, lock_filename_);
  *this = std::move(again);
  co_return true;
}

task<void> directory_lock::release() { co_await file_.close(); }

}  // namespace LEAT
