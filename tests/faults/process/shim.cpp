// A library for LD_PRELOAD. It makes the n-th allocation of the program fail, or its n-th system
// call on a file. It counts from 0, even if nothing fails, and writes the count to a file at the
// end.
//
//     LEAT_SHIM=allocation|call   the kind that is counted
//     LEAT_SHIM_FAIL=n            number of the one that fails; if not set, none fails
//     LEAT_SHIM_ERROR=5           errno of the failing call
//     LEAT_SHIM_COUNT=path        file for the count; the highest count of several processes
//     LEAT_SHIM_STACKS=path       file for the number of the first event of each call stack
//
// An error that main() does not catch ends the process with status 70. std::terminate for another
// reason, such as an exception in a noexcept function, aborts the process.

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <exception>
#include <execinfo.h>
#include <fcntl.h>
#include <new>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "faults/process/real_function.hpp"

namespace {

std::atomic<long> allocations{0};
std::atomic<long> calls{0};
long failing_allocation = -1;
long failing_call = -1;
int error = EIO;
const char* count_path = nullptr;

// Finds the allocations, or calls, that were the first with their call stack (the innermost
// frames). It compares hashes, so two call stacks are very rarely treated as one.
class call_stacks {
 public:
  void begin(const char* path) noexcept { path_ = path; }

  [[gnu::noinline]] void note(long n) noexcept {
    if (!path_ || inside_) return;
    inside_ = true;
    void* frames[40];
    const int count = ::backtrace(frames, 40);
    std::size_t hash = 0;
    for (int i = 2; i < count; ++i) {  // earlier frames are in this file
      hash = (hash ^ reinterpret_cast<std::size_t>(frames[i])) * 0x9e3779b97f4a7c15U;
      hash ^= hash >> 32U;
    }
    for (std::size_t i = hash % places; hash != 0; i = (i + 1) % places) {
      std::size_t there = 0;
      if (seen_[i].compare_exchange_strong(there, hash)) {
        const std::size_t at = size_.fetch_add(1);
        if (at < most) firsts_[at] = n;
        break;
      }
      if (there == hash || size_ >= most) break;
    }
    inside_ = false;
  }

  // Appends to the output of other processes.
  void write(const char* what) noexcept {
    std::FILE* const f = path_ ? std::fopen(path_, "a") : nullptr;
    if (!f) return;
    for (std::size_t i = 0; i < std::min(size_.load(), most); ++i) {
      std::fprintf(f, "%s %ld\n", what, firsts_[i].load());
    }
    std::fclose(f);
  }

 private:
  static constexpr std::size_t places = 1 << 16;
  static constexpr std::size_t most = places / 2;

  const char* path_ = nullptr;
  std::atomic<std::size_t> size_{0};
  std::atomic<std::size_t> seen_[places];
  std::atomic<long> firsts_[most];
  static thread_local bool inside_;  // backtrace() may allocate
};
thread_local bool call_stacks::inside_ = false;
call_stacks allocating_stacks;
call_stacks calling_stacks;

bool allocation_fails() noexcept {
  const long n = allocations.fetch_add(1);
  allocating_stacks.note(n);
  return n == failing_allocation;
}

bool call_fails() noexcept {
  const long n = calls.fetch_add(1);
  calling_stacks.note(n);
  if (n != failing_call) return false;
  errno = error;
  return true;
}

bool is_file(int fd) noexcept {
  struct stat s{};
  return ::fstat(fd, &s) == 0 && (S_ISREG(s.st_mode) || S_ISDIR(s.st_mode));
}

bool is_system_path(const char* path) noexcept {
  return std::strncmp(path, "/proc/", 6) == 0 || std::strncmp(path, "/dev/", 5) == 0 ||
         std::strncmp(path, "/sys/", 5) == 0;
}

// An exception ends the process here if no handler catches it, or if it cannot leave a noexcept
// function. In the second case the search for a handler is on the stack.
[[noreturn]] void on_terminate() {
  void* frames[64];
  const int n = ::backtrace(frames, 64);
  bool unwinding = false;
  bool thrown = false;
  for (int i = 0; i < n; ++i) {
    Dl_info info{};
    // A call that does not return may be the last instruction of its function.
    if (::dladdr(static_cast<char*>(frames[i]) - 1, &info) == 0 || !info.dli_sname) continue;
    const char* const name = info.dli_sname;
    if (std::strstr(name, "gxx_personality") || std::strstr(name, "call_terminate")) {
      unwinding = true;
    }
    if (std::strstr(name, "cxa_throw") || std::strstr(name, "cxa_rethrow") ||
        std::strstr(name, "rethrow_exception")) {
      thrown = true;
    }
  }
  if (thrown && !unwinding) {
    try {
      std::rethrow_exception(std::current_exception());
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s\n", e.what());
    } catch (...) {
    }
    ::_exit(70);
  }
  ::backtrace_symbols_fd(frames, n, STDERR_FILENO);
  std::abort();
}

void write_count() {
  allocating_stacks.write("allocation");
  calling_stacks.write("call");
  if (!count_path) return;
  long most[] = {allocations, calls};
  if (std::FILE* f = std::fopen(count_path, "r")) {
    long before[] = {0, 0};
    if (std::fscanf(f, "%ld %ld", &before[0], &before[1]) == 2) {
      for (int i : {0, 1}) most[i] = std::max(most[i], before[i]);
    }
    std::fclose(f);
  }
  if (std::FILE* f = std::fopen(count_path, "w")) {
    std::fprintf(f, "%ld %ld\n", most[0], most[1]);
    std::fclose(f);
  }
}

// Runs before main(), and after the C++ library has started.
[[gnu::constructor]] void begin() {
  void* frames[2];
  ::backtrace(frames, 2);  // its first call allocates
  const char* const what = std::getenv("LEAT_SHIM");
  const char* const n = std::getenv("LEAT_SHIM_FAIL");
  count_path = std::getenv("LEAT_SHIM_COUNT");
  if (const char* const e = std::getenv("LEAT_SHIM_ERROR")) error = std::atoi(e);
  allocating_stacks.begin(std::getenv("LEAT_SHIM_STACKS"));
  calling_stacks.begin(std::getenv("LEAT_SHIM_STACKS"));
  std::set_terminate(on_terminate);
  std::atexit(write_count);
  allocations = 0;
  calls = 0;
  if (!what || !n) return;
  (std::strcmp(what, "call") == 0 ? failing_call : failing_allocation) = std::atol(n);
}

void* allocate(std::size_t size, std::size_t alignment) {
  void* p = nullptr;
  if (!allocation_fails() && ::posix_memalign(&p, alignment, size > 0 ? size : 1) == 0) return p;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, 16); }
void* operator new[](std::size_t size) { return allocate(size, 16); }
void* operator new(std::size_t size, std::align_val_t a) {
  return allocate(size, static_cast<std::size_t>(a));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocation_fails() ? nullptr : std::malloc(size);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

// The system calls with which leat's worker threads access files, and those with which its ring
// reads immediately.
extern "C" {

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  static constinit real_function<void*(std::size_t, std::size_t)> next("aligned_alloc");
  return allocation_fails() ? nullptr : next(alignment, size);
}
// Reports every path as not cached, so that all opens use the functions below.
long syscall(long number, ...) noexcept {
  if (number == SYS_openat2) {
    errno = EAGAIN;
    return -1;
  }
  long arguments[6];
  va_list rest;
  va_start(rest, number);
  for (long& a : arguments) a = va_arg(rest, long);
  va_end(rest);
  static constinit real_function<long(long, long, long, long, long, long, long)> next("syscall");
  return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
              arguments[5]);
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  static constinit real_function<int(const char*, int, ...)> next("open64");
  return !is_system_path(path) && call_fails() ? -1 : next(path, flags, mode);
}
ssize_t pread64(int fd, void* to, size_t size, off64_t offset) {
  static constinit real_function<ssize_t(int, void*, size_t, off64_t)> next("pread64");
  return is_file(fd) && call_fails() ? -1 : next(fd, to, size, offset);
}
ssize_t preadv64v2(int fd, const iovec* to, int count, off64_t offset, int flags) {
  static constinit real_function<ssize_t(int, const iovec*, int, off64_t, int)> next("preadv64v2");
  return is_file(fd) && call_fails() ? -1 : next(fd, to, count, offset, flags);
}
ssize_t pwrite64(int fd, const void* from, size_t size, off64_t offset) {
  static constinit real_function<ssize_t(int, const void*, size_t, off64_t)> next("pwrite64");
  return is_file(fd) && call_fails() ? -1 : next(fd, from, size, offset);
}
int fsync(int fd) {
  static constinit real_function<int(int)> next("fsync");
  return call_fails() ? -1 : next(fd);
}
int rename(const char* from, const char* to) noexcept {
  static constinit real_function<int(const char*, const char*)> next("rename");
  return call_fails() ? -1 : next(from, to);
}
int unlink(const char* path) noexcept {
  static constinit real_function<int(const char*)> next("unlink");
  return call_fails() ? -1 : next(path);
}
DIR* opendir(const char* path) {
  static constinit real_function<DIR*(const char*)> next("opendir");
  return !is_system_path(path) && call_fails() ? nullptr : next(path);
}
int stat64(const char* path, struct stat64* to) noexcept {
  static constinit real_function<int(const char*, struct stat64*)> next("stat64");
  return !is_system_path(path) && call_fails() ? -1 : next(path, to);
}

}  // extern "C"
