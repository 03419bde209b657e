#pragma once

namespace leat::detail {

/// Where a simulated thread may be pre-empted: before it takes a lock, after it has let one go.
///
/// A simulation runs several threads on one, by turns; between two suspension points it can change
/// turns only where the program tells it that it may. The library's locks do. On a thread that
/// simulates nothing each of these places costs one test of a thread-local pointer.
class pre_emption {
 public:
  /// What a simulation installs on its thread. No turn is changed while a lock is held.
  struct listener {
    void (*may_pre_empt)(listener& self) noexcept;
    unsigned held = 0;  ///< locks that the running simulated thread holds
  };

  static void before_lock() noexcept {
    if (current_) [[unlikely]] {
      point();
      if (current_) ++current_->held;
    }
  }
  static void after_unlock() noexcept {
    if (current_) [[unlikely]] {
      if (current_->held > 0) --current_->held;
      point();
    }
  }

  /// A place of the program's own.
  static void point() noexcept {
    if (current_ && current_->held == 0) current_->may_pre_empt(*current_);
  }

  /// True on a thread that simulates others.
  [[nodiscard]] static bool simulated() noexcept { return current_ != nullptr; }

  /// Installs `l`, null for none; gives what was there.
  static listener* install(listener* l) noexcept {
    listener* const before = current_;
    current_ = l;
    return before;
  }

  /// No change of turns in its scope: what runs there is known by its OS thread, such as a stop
  /// callback that somebody waits for.
  class barred {
   public:
    barred() noexcept : listener_(current_) {
      if (listener_) ++listener_->held;
    }
    ~barred() {
      if (listener_) --listener_->held;
    }
    barred(const barred&) = delete;
    barred& operator=(const barred&) = delete;

   private:
    listener* const listener_;
  };

 private:
  static constinit thread_local listener* current_
#if defined(__GNUC__)
      __attribute__((tls_model("initial-exec")))
#endif
      ;
};

}  // namespace leat::detail
