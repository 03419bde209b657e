#include "train/summary/event_file.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <exception>
#include <string_view>
#include <utility>

#include "leat/base/error.hpp"
#include "leat/codec/event/event.hpp"
#include "leat/codec/tfrecord/tfrecord.hpp"
#include "leat/io/file/internal/atomic_file.hpp"

namespace LEAT::detail {
namespace {

constexpr std::size_t min_digits = 10;
// This many files of one process in one second indicate a program that runs away.
constexpr unsigned max_files_per_second = 10'000;

// Returns the second in the name of an event file; 0 if it has none.
std::int64_t parse_second(std::string_view name) noexcept {
  constexpr std::string_view begin = "events.out.tfevents.";
  if (!name.starts_with(begin)) return 0;
  name.remove_prefix(begin.size());
  std::int64_t second = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), second);
  const bool is_time = error == std::errc() && end == name.data() + min_digits;
  return is_time ? second : 0;
}

// Returns the second of the newest file of a directory, by any program; 0 if there is none.
task<std::int64_t> find_newest_second(std::string directory) {
  std::int64_t newest = 0;
  const std::vector<std::string> names = co_await list_directory(std::move(directory));
  for (const std::string& name : names) newest = std::max(newest, parse_second(name));
  co_return newest;
}

}  // namespace

std::string event_file_names::path(std::int64_t seconds, unsigned number) const {
  std::string time = std::to_string(seconds);
  time.insert(0, min_digits - std::min(min_digits, time.size()), '0');
  return directory + "/events.out.tfevents." + time + "." + host + "." + std::to_string(process) +
         "." + std::to_string(number) + suffix;
}

void event_file::append(byte_view event) { append_tfrecord(pending_, event); }

task<void> event_file::create(wall_time_point now) {
  co_await make_directories(names_.directory);
  // Readers read files in the order of their names: the new one comes after all existing ones, also
  // within one second and after the clock was set back.
  const std::int64_t newest = co_await find_newest_second(names_.directory);
  const auto since = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  const std::int64_t second = std::max<std::int64_t>({since, last_second_, newest + 1});
  const event_record begin{static_cast<double>(second), 0, file_version()};
  std::vector<std::byte> version;
  append_tfrecord(version, as_bytes(begin.to_bytes()));
  for (unsigned number = 0;; ++number) {
    std::string path = names_.path(second, number);
    try {
      file_ = co_await file::open(path, open_mode::write_new);
    } catch (const failure& e) {
      if (e.code() != errc::already_exists || number == max_files_per_second) throw;
      continue;
    }
    path_ = std::move(path);
    break;
  }
  version_ = std::move(version);
  last_second_ = second;
  size_ = 0;
  name_is_durable_ = false;
}

task<void> event_file::check_exists() const {
  bool there = true;
  try {
    static_cast<void>(co_await get_status(path_));
  } catch (const failure& e) {
    if (e.code() != errc::not_found) throw;
    there = false;
  }
  if (!there) {
    throw failure(
        errc::unknown,
        path_ + ": event file was removed: call close() and reopen() to begin another file");
  }
}

task<void> event_file::put(std::vector<std::byte>& bytes) {
  if (bytes.empty()) co_return;
  // After an error `size_` and the bytes are unchanged: the next write() repeats them at this
  // offset.
  co_await file_.write_at(size_, bytes);
  size_ += bytes.size();
  bytes.clear();
}

task<void> event_file::write(wall_time_point now, bool durable) {
  if (file_.is_open()) {
    co_await check_exists();
  } else {
    if (pending_.empty()) co_return;
    co_await create(now);
  }
  std::exception_ptr error;
  try {
    co_await put(version_);
  } catch (...) {
    error = std::current_exception();
  }
  if (error) {
    if (!version_.empty()) co_await discard();  // otherwise the file contains events
    std::rethrow_exception(error);
  }
  co_await put(pending_);
  if (!durable) co_return;
  co_await file_.sync();
  if (!name_is_durable_) co_await sync_parent_directory(path_);
  name_is_durable_ = true;
}

// Removes a file that does not contain its first record yet, as on a full disk: a program that is
// restarted repeatedly would leave one each time.
task<void> event_file::discard() {
  version_.clear();
  const std::string path = std::exchange(path_, {});
  file unusable = std::exchange(file_, file());
  try {
    co_await unusable.close();
  } catch (const std::exception&) {  // the error of the write is reported
  }
  try {
    co_await remove_file(path);
  } catch (const std::exception&) {
  }
}

task<void> event_file::close() { co_await file_.close(); }

void event_file::abandon() noexcept { file_ = file(); }

}  // namespace LEAT::detail
