// A library for LD_PRELOAD. It kills a supervised program with SIGKILL before a change of its
// directory. Between two such crash points the program changes nothing that a crash could leave
// incomplete. Each point has a label, and kill_training.py lists them.
//
//     LEAT_CRASH_AT="checkpoint: rename it"  the crash point
//     LEAT_CRASH_COUNT=3                     number of the pass of this point that is killed
//
// It replaces only functions of libc, which leat's worker threads call: set LEAT_IO=threads.

#include <atomic>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faults/process/real_function.hpp"

namespace {

// Saves do not overlap, so these variables need no lock. Events are written concurrently.
std::atomic<bool> removed{false};          // an old checkpoint, since the last state file
std::atomic<bool> renamed_a_state{false};  // by the last rename
std::atomic<bool> behind_removal{false};   // the last state file follows a removal
std::atomic<long> times{0};

void come_to(const std::string& label) {
  static const char* const wanted = std::getenv("LEAT_CRASH_AT");
  static const char* const count = std::getenv("LEAT_CRASH_COUNT");
  if (!wanted || label != wanted) return;
  if (++times == (count ? std::atol(count) : 1)) ::kill(::getpid(), SIGKILL);
}

std::string name_in(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

// Returns an empty string if `fd` does not refer to a file.
std::string name_of(int fd) {
  char path[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t size = ::readlink(link.c_str(), path, sizeof path);
  return size > 0 ? name_in({path, static_cast<std::size_t>(size)}) : std::string();
}

bool is_lock(const std::string& name) { return name == "checkpoint.lock"; }
bool is_events(const std::string& name) { return name.starts_with("events.out."); }
bool is_partial(const std::string& name) { return name.ends_with(".partial"); }
bool is_checkpoint(const std::string& name) { return name.starts_with("model.ckpt"); }

std::string state_file(bool follows_removal) {
  return follows_removal ? "state file behind a removal: " : "state file: ";
}
std::string subject(const std::string& name) {
  return is_checkpoint(name) ? "checkpoint: " : state_file(removed);
}

void before_create(const std::string& name) {
  if (is_lock(name)) come_to("lock: make it");
  if (is_events(name)) come_to("events: make the file");
  if (is_partial(name)) come_to(subject(name) + "make the temporary file");
}

void before_write(const std::string& name) {
  if (is_lock(name)) come_to("lock: write the holder");
  if (is_events(name)) come_to("events: write");
  if (is_partial(name)) come_to(subject(name) + "write it");
}

void before_sync(const std::string& name) {
  if (is_partial(name)) {
    come_to(subject(name) + "sync it");
  } else if (!is_events(name)) {
    come_to((renamed_a_state ? state_file(behind_removal) : "checkpoint: ") + "sync the directory");
  }
}

void before_rename(const std::string& name) {
  come_to(subject(name) + "rename it");
  renamed_a_state = !is_checkpoint(name);
  if (renamed_a_state) behind_removal = removed.exchange(false);
}

void before_unlink(const std::string& name) {
  come_to(is_partial(name) ? "temporary file: remove it" : "old checkpoint: remove it");
  removed = removed || !is_partial(name);
}

}  // namespace

extern "C" {

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if ((flags & O_CREAT) != 0) before_create(name_in(path));
  static constinit real_function<int(const char*, int, ...)> next("open64");
  return next(path, flags, mode);
}
int mkdir(const char* path, mode_t mode) noexcept {
  come_to("directory: make it");
  static constinit real_function<int(const char*, mode_t)> next("mkdir");
  return next(path, mode);
}
int flock(int fd, int operation) noexcept {
  come_to("lock: take it");
  static constinit real_function<int(int, int)> next("flock");
  return next(fd, operation);
}
int ftruncate64(int fd, off64_t size) noexcept {
  if (is_lock(name_of(fd))) come_to("lock: empty it");
  static constinit real_function<int(int, off64_t)> next("ftruncate64");
  return next(fd, size);
}
ssize_t pwrite64(int fd, const void* from, size_t size, off64_t offset) {
  before_write(name_of(fd));
  static constinit real_function<ssize_t(int, const void*, size_t, off64_t)> next("pwrite64");
  return next(fd, from, size, offset);
}
int fsync(int fd) {
  before_sync(name_of(fd));
  static constinit real_function<int(int)> next("fsync");
  return next(fd);
}
int rename(const char* from, const char* to) noexcept {
  before_rename(name_in(from));
  static constinit real_function<int(const char*, const char*)> next("rename");
  return next(from, to);
}
int unlink(const char* path) noexcept {
  before_unlink(name_in(path));
  static constinit real_function<int(const char*)> next("unlink");
  return next(path);
}

}  // extern "C"
