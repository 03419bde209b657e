#pragma once

#include <cstddef>
#include <memory>

#include "leat/base/flavour.hpp"

namespace LEAT::sim {

/// A separate stack, on which a function can be suspended in the middle and resumed.
///
/// The state of C++ exceptions that are being handled, which belongs to an OS thread, is kept for
/// each fiber. Everything else that is thread-local is shared.
///
/// Thread safety: none; a fiber belongs to the thread that created it.
class fiber {
 public:
  fiber();
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;
  ~fiber();

  /// Runs `function(argument)` on the fiber's stack until it ends or calls suspend().
  void start(void (*function)(void*), void* argument) noexcept;

  /// Continues the function after its call to suspend().
  void resume() noexcept;

  /// Called by the function: switches back to the caller of start() or resume(). Returns after the
  /// next resume().
  void suspend() noexcept;

  /// True from start() until the function has ended.
  [[nodiscard]] bool busy() const noexcept { return function_ != nullptr; }

 private:
  struct state;
  static void enter(unsigned low, unsigned high);
  void switch_in() noexcept;

  std::unique_ptr<state> state_;
  void (*function_)(void*) = nullptr;
  void* argument_ = nullptr;
};

}  // namespace LEAT::sim
