#include "io/file/open_file_cache.hpp"

#include <cerrno>
#include <fcntl.h>
#include <utility>

namespace LEAT::detail {

bool has_stable_inodes(const struct statfs& file_system) noexcept {
  switch (static_cast<std::uint32_t>(file_system.f_type)) {
    case 0x65735546:  // FUSE
    case 0xFF534D42:  // CIFS
    case 0xFE534D42:  // SMB 2 and later
      return false;
    default: return true;
  }
}

bool is_short_of_descriptors(std::int64_t result) noexcept {
  return result == -EMFILE || result == -ENFILE;
}

bool is_unchanged(const file_status& then, const file_status& now) noexcept {
  return now.size == then.size && now.modified_ns == then.modified_ns &&
         now.device == then.device && now.inode == then.inode;
}

void close_temporarily(file_handle& handle) noexcept {
  if (handle.number < 0) return;
  file_request request;
  request.what = file_request::operation::close;
  request.handle = std::exchange(handle.number, -1);
  handle.run_without_scheduler(request);
}

// Invariant: file n is in open_ exactly if its handle has a number, that is, if is_open(n).
// open_.size() + opening_ may exceed max_open_ for a while, because open() never waits for a free
// slot; enforce_limit() closes the excess. The order of open_ has no meaning: it is the circle on
// which the clock hand moves.

open_file_cache::open_file_cache(std::vector<std::shared_ptr<file_handle>> handles,
                                 std::vector<file_at_open> known, std::size_t most)
    : handles_(std::move(handles)),
      files_at_open_(std::move(known)),
      max_open_(most),
      states_(handles_.size()) {
  open_.reserve(handles_.size());
  for (std::size_t n = 0; n < handles_.size(); ++n) {
    if (!is_open(n)) continue;
    if (open_.size() < max_open_) {
      open_.push_back(n);
    } else {
      close_temporarily(*handles_[n]);
    }
  }
}

bool open_file_cache::free_slot() noexcept {
  while (open_.size() + opening_ >= max_open_) {
    if (!close_one()) return false;
  }
  return true;
}

void open_file_cache::enforce_limit() noexcept {
  while (open_.size() + opening_ > max_open_ && close_one()) {
  }
}

bool open_file_cache::close_one() noexcept {
  // Twice around: the first time may only clear the marks of use.
  for (std::size_t left = 2 * open_.size(); left > 0; --left) {
    if (clock_hand_ >= open_.size()) clock_hand_ = 0;
    const std::size_t n = open_[clock_hand_];
    const bool in_use = states_[n].pins > 0 || handles_[n]->in_use();
    if (!in_use && !std::exchange(states_[n].used_lately, false)) {
      close_temporarily(*handles_[n]);
      open_[clock_hand_] = open_.back();
      open_.pop_back();
      return true;
    }
    ++clock_hand_;
  }
  return false;
}

void open_file_cache::prepare_open(std::size_t n, file_request& request,
                                   file_status& found) const noexcept {
  request.what = file_request::operation::open;
  request.flags = O_RDONLY;
  request.path = files_at_open_[n].path->c_str();
  request.status = &found;
  request.retries = 0;
  request.result = 0;
}

bool open_file_cache::is_same_file(std::size_t n, const file_handle& opened,
                                   const file_status& found) const noexcept {
  file_status then = files_at_open_[n].then;
  if (is_unchanged(then, found)) return true;
  struct statfs on{};
  if (!opened.backend.uses_descriptors() || ::fstatfs(opened.number, &on) != 0 ||
      has_stable_inodes(on)) {
    return false;
  }
  // Size and time decide for a file system whose numbers are not stable.
  then.device = found.device;
  then.inode = found.inode;
  return is_unchanged(then, found);
}

// Takes the result of opening file n into its handle. Another task may have opened it in the
// meantime. The local handle closes the descriptor unless the cache takes it over.
std::int64_t open_file_cache::adopt(std::size_t n, std::int64_t result,
                                    const file_status& found) noexcept {
  if (result < 0) return result;
  file_handle opened(handles_[n]->home, handles_[n]->backend, static_cast<int>(result));
  if (!is_same_file(n, opened, found)) return -ESTALE;
  if (is_open(n)) return 0;
  handles_[n]->number = std::exchange(opened.number, -1);
  open_.push_back(n);
  return 0;
}

bool open_file_cache::try_open(std::size_t n) noexcept {
  enforce_limit();
  states_[n].used_lately = true;
  if (is_open(n)) return true;
  if (is_opening(n) || !free_slot()) return false;
  file_request request;
  file_status found;
  prepare_open(n, request, found);
  return handles_[n]->backend.try_complete(request) && adopt(n, request.result, found) == 0;
}

task<std::int64_t> open_file_cache::open(std::size_t n, std::source_location where) {
  states_[n].used_lately = true;
  for (;;) {
    if (is_open(n)) co_return 0;
    // If no file can be closed, this one is opened beyond the limit.
    static_cast<void>(free_slot());
    file_request request;
    file_status found;
    prepare_open(n, request, found);
    const std::int64_t result =
        co_await file_operation(handles_[n]->backend, request, *files_at_open_[n].path, where);
    const std::int64_t taken = adopt(n, result, found);
    if (!is_short_of_descriptors(taken) || !close_one()) co_return taken;
  }
}

void open_file_cache::begin_open(std::size_t n, file_request& request) noexcept {
  states_[n].opening = true;
  states_[n].used_lately = true;
  ++opening_;
  prepare_open(n, request, states_[n].found);
}

std::int64_t open_file_cache::end_open(std::size_t n, std::int64_t result) noexcept {
  states_[n].opening = false;
  --opening_;
  return adopt(n, result, states_[n].found);
}

}  // namespace LEAT::detail
