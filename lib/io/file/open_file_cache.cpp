#include "io/file/open_file_cache.hpp"

#include <cerrno>
#include <fcntl.h>
#include <utility>

namespace leat::detail {

bool keeps_inodes(const struct statfs& file_system) noexcept {
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

bool is_as_it_was(const file_status& then, const file_status& now) noexcept {
  return now.size == then.size && now.modified_ns == then.modified_ns &&
         now.device == then.device && now.inode == then.inode;
}

void close_for_now(file_handle& handle) noexcept {
  if (handle.number < 0) return;
  file_request request;
  request.what = file_request::operation::close;
  request.handle = std::exchange(handle.number, -1);
  handle.run_anywhere(request);
}

open_files::open_files(std::vector<std::shared_ptr<file_handle>> handles,
                       std::vector<known_file> known, std::size_t most)
    : handles_(std::move(handles)),
      known_(std::move(known)),
      most_(most),
      states_(handles_.size()) {
  open_.reserve(handles_.size());
  for (std::size_t n = 0; n < handles_.size(); ++n) {
    if (!is_open(n)) continue;
    if (open_.size() < most_) {
      open_.push_back(n);
    } else {
      close_for_now(*handles_[n]);
    }
  }
}

bool open_files::make_room() noexcept {
  while (open_.size() + opening_ >= most_) {
    if (!close_one()) return false;
  }
  return true;
}

void open_files::keep_to_limit() noexcept {
  while (open_.size() + opening_ > most_ && close_one()) {
  }
}

bool open_files::close_one() noexcept {
  for (std::size_t left = 2 * open_.size(); left > 0; --left) {
    if (hand_ >= open_.size()) hand_ = 0;
    const std::size_t n = open_[hand_];
    const bool in_use = states_[n].pins > 0 || handles_[n]->in_use();
    if (!in_use && !std::exchange(states_[n].used_lately, false)) {
      close_for_now(*handles_[n]);
      open_[hand_] = open_.back();
      open_.pop_back();
      return true;
    }
    ++hand_;
  }
  return false;
}

void open_files::ask_to_open(std::size_t n, file_request& request,
                             file_status& found) const noexcept {
  request.what = file_request::operation::open;
  request.flags = O_RDONLY;
  request.path = known_[n].path->c_str();
  request.status = &found;
  request.retries = 0;
  request.result = 0;
}

bool open_files::is_the_same(std::size_t n, const file_handle& opened,
                             const file_status& found) const noexcept {
  file_status then = known_[n].then;
  if (is_as_it_was(then, found)) return true;
  struct statfs on{};
  if (!opened.backend.gives_descriptors() || ::fstatfs(opened.number, &on) != 0 ||
      keeps_inodes(on)) {
    return false;
  }
  then.device = found.device;
  then.inode = found.inode;
  return is_as_it_was(then, found);
}

// Another may have opened it meanwhile.
std::int64_t open_files::take(std::size_t n, std::int64_t result,
                              const file_status& found) noexcept {
  if (result < 0) return result;
  file_handle opened(handles_[n]->backend, static_cast<int>(result));
  if (!is_the_same(n, opened, found)) return -ESTALE;
  if (is_open(n)) return 0;
  handles_[n]->number = std::exchange(opened.number, -1);
  open_.push_back(n);
  return 0;
}

bool open_files::open_now(std::size_t n) noexcept {
  keep_to_limit();
  states_[n].used_lately = true;
  if (is_open(n)) return true;
  if (is_opening(n) || !make_room()) return false;
  file_request request;
  file_status found;
  ask_to_open(n, request, found);
  return handles_[n]->backend.try_now(request) && take(n, request.result, found) == 0;
}

task<std::int64_t> open_files::open(std::size_t n, std::source_location where) {
  states_[n].used_lately = true;
  for (;;) {
    if (is_open(n)) co_return 0;
    static_cast<void>(make_room());
    file_request request;
    file_status found;
    ask_to_open(n, request, found);
    const std::int64_t result =
        co_await file_operation(handles_[n]->backend, request, *known_[n].path, where);
    const std::int64_t taken = take(n, result, found);
    if (!is_short_of_descriptors(taken) || !close_one()) co_return taken;
  }
}

void open_files::begin_open(std::size_t n, file_request& request) noexcept {
  states_[n].opening = true;
  states_[n].used_lately = true;
  ++opening_;
  ask_to_open(n, request, states_[n].found);
}

std::int64_t open_files::end_open(std::size_t n, std::int64_t result) noexcept {
  states_[n].opening = false;
  --opening_;
  return take(n, result, states_[n].found);
}

}  // namespace leat::detail
