#pragma once

#include <atomic>
#include <dlfcn.h>

/// The function that a library which is loaded before the program stands in the way of: the next
/// one behind that library, so each has this for itself.
///
/// Looked up at its first call; two threads may do so at the same time, and find the same. For
/// `static constinit` only: where two threads want a static that has to be made, the C++ library
/// waits by syscall(), which may be the very function that is being looked up.
template <class Function>
class real_function {
 public:
  explicit constexpr real_function(const char* name) noexcept : name_(name) {}

  template <class... Arguments>
  auto operator()(Arguments... arguments) noexcept {
    Function* f = found_.load(std::memory_order_relaxed);
    if (!f) {
      f = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name_));
      found_.store(f, std::memory_order_relaxed);
    }
    return f(arguments...);
  }

 private:
  const char* const name_;
  std::atomic<Function*> found_{nullptr};
};
