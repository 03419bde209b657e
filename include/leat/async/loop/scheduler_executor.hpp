#pragma once

#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/scheduler/work_item.hpp"
#include "leat/base/asio.hpp"
#include "leat/base/internal/frame_allocator.hpp"

#include LEAT_ASIO(execution/blocking.hpp)
#include LEAT_ASIO(execution/context.hpp)
#include LEAT_ASIO(execution_context.hpp)

namespace LEAT {

/// A scheduler as an Asio executor. The functions that it runs and the tasks of the scheduler run
/// one at a time, as on a strand.
///
///     asio::post(leat::get_executor(s), [&] { ++served; });  // needs no lock
///
/// execute() runs a function inside the call if it is called on the scheduler, or in a handler of
/// the scheduler's io_context while no turn of the scheduler runs. Otherwise it posts the function.
/// asio::post() always posts.
///
/// A function must not throw; an exception ends the process. A function that has not run when the
/// scheduler is destroyed is destroyed without a call. The executor does not count as work of the
/// context, except between a post and the call of the function.
///
/// Use it as the executor of an I/O object only with the scheduler of an io_context. An embedded
/// one has no context before leat/net.hpp is used, and I/O in that of a simulated one never ends.
///
/// Thread safety: thread-safe. Cost: a post takes one recycled block.
class scheduler_executor {
 public:
  explicit scheduler_executor(scheduler& s) noexcept : scheduler_(&s) {}

  /// Returns the scheduler.
  [[nodiscard]] scheduler& get_scheduler() const noexcept { return *scheduler_; }

  /// Runs `f` on the scheduler: see the class. Errors: std::bad_alloc.
  template <class Function>
  void execute(Function&& f) const {
    if (!never_blocks_) {
      if (scheduler::current() == scheduler_) {
        if (scheduler_->is_ending()) return;
        std::decay_t<Function> function(std::forward<Function>(f));
        function();
        return;
      }
      function_in_place<Function> here(f);
      if (scheduler_->run_here(here)) return;
    }
    using item = posted_function<std::decay_t<Function>, detail::standard_frame_allocator<>>;
    scheduler_->post(*item::make({}, std::forward<Function>(f)));
  }

  /// Posts a completion of leat, in memory from the completion's own allocator.
  /// Errors: the exceptions of the allocator.
  template <class Completion>
  void post_completion(Completion&& c) const {
    using allocator = typename std::remove_cvref_t<Completion>::allocator_type;
    using item = posted_function<std::decay_t<Completion>, allocator>;
    scheduler_->post(*item::make(c.get_allocator(), std::forward<Completion>(c)));
  }

  /// Returns an executor for which execute() never runs a function inside the call.
  [[nodiscard]] scheduler_executor require(asio::execution::blocking_t::never_t) const noexcept {
    return {*scheduler_, true};
  }
  /// Returns an executor for which execute() may run a function inside the call.
  [[nodiscard]] scheduler_executor require(asio::execution::blocking_t::possibly_t) const noexcept {
    return {*scheduler_, false};
  }
  /// Returns whether execute() may run a function inside the call.
  [[nodiscard]] asio::execution::blocking_t query(asio::execution::blocking_t) const noexcept {
    return never_blocks_ ? asio::execution::blocking_t(asio::execution::blocking.never)
                         : asio::execution::blocking_t(asio::execution::blocking.possibly);
  }
  /// Returns the io_context of the scheduler, or the system context if it has none.
  [[nodiscard]] asio::execution_context& query(asio::execution::context_t) const noexcept;

  friend bool operator==(const scheduler_executor& a, const scheduler_executor& b) noexcept {
    return a.scheduler_ == b.scheduler_ && a.never_blocks_ == b.never_blocks_;
  }
  friend bool operator!=(const scheduler_executor& a, const scheduler_executor& b) noexcept {
    return !(a == b);
  }

 private:
  scheduler_executor(scheduler& s, bool never_blocks) noexcept
      : scheduler_(&s), never_blocks_(never_blocks) {}

  // A function of the caller, which is run inside the call or not at all.
  template <class Function>
  struct function_in_place : work_item {
    explicit function_in_place(std::remove_reference_t<Function>& f) noexcept : function(f) {
      run_ = [](work_item& item) noexcept {
        auto& self = static_cast<function_in_place&>(item);
        std::decay_t<Function> own(static_cast<Function&&>(self.function));
        own();
      };
    }
    std::remove_reference_t<Function>& function;
  };

  template <class Function, class Allocator>
  struct posted_function : work_item {
    using rebound =
        typename std::allocator_traits<Allocator>::template rebind_alloc<posted_function>;
    using traits = std::allocator_traits<rebound>;

    template <class From>
    [[nodiscard]] static posted_function* make(rebound allocator, From&& f) {
      posted_function* const self = traits::allocate(allocator, 1);
      try {
        return ::new (static_cast<void*>(self)) posted_function(allocator, std::forward<From>(f));
      } catch (...) {
        traits::deallocate(allocator, self, 1);
        throw;
      }
    }
    template <class From>
    posted_function(const rebound& a, From&& f) : allocator(a), function(std::forward<From>(f)) {
      run_ = [](work_item& item) noexcept {
        auto* const self = static_cast<posted_function*>(&item);
        Function own(std::move(self->function));
        rebound memory(self->allocator);
        std::destroy_at(self);
        traits::deallocate(memory, self, 1);  // before the call, which may need the memory
        if (!scheduler::current_is_ending()) own();
      };
    }

    [[no_unique_address]] rebound allocator;
    Function function;
  };

  scheduler* scheduler_;
  bool never_blocks_ = false;
};

/// Returns the scheduler as an Asio executor. Thread safety: thread-safe.
[[nodiscard]] inline scheduler_executor get_executor(scheduler& s) noexcept {
  return scheduler_executor(s);
}

}  // namespace LEAT
