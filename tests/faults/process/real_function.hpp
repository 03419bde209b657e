#pragma once

#include <atomic>
#include <dlfcn.h>

/// A function that a preloaded library replaces: the next function of that name after the library.
/// Each preloaded library has its own object.
///
/// The first call looks the function up. Two threads may do so concurrently and find the same
/// function. Use it only as `static constinit`: if two threads reach a static object that needs
/// initialisation, the C++ library waits with syscall(), which may be the function to look up.
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
