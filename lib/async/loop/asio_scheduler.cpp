#include "leat/async/loop/asio_scheduler.hpp"

#include <atomic>
#include <chrono>
#include <ctime>
#include <new>
#include <utility>

#include "async/loop/asio_event_listener.hpp"
#include "async/loop/handler_memory.hpp"
#include "async/loop/handler_scheduler.hpp"
#include "leat/async/loop/detail/pending_operations.hpp"
#include "leat/async/loop/internal/event_loop_scheduler.hpp"
#include "leat/base/asio.hpp"
#include "leat/base/error.hpp"

#include LEAT_ASIO(io_context.hpp)
#include LEAT_ASIO(post.hpp)
#include LEAT_ASIO(steady_timer.hpp)

namespace LEAT {
namespace {

class asio_scheduler final : public detail::event_loop_scheduler {
 public:
  asio_scheduler(asio::io_context& io, const asio_scheduler_options& options)
      : io_(io), options_(options), timer_(io) {}

  [[nodiscard]] asio::io_context& context() const noexcept { return io_; }

  // The timer must not keep handlers alive after the context has shut down.
  void shutdown() noexcept {
    if (is_ending()) return;
    listed_.remove();
    end("io_context");
    timer_.cancel();
    end_after_shutdown(passes_of_shutdown);
  }
  // Destructors of handlers may have spawned since.
  ~asio_scheduler() {
    end("io_context");
    end_other_tasks();
  }

  [[nodiscard]] std::unique_ptr<detail::event_listener> make_listener() override {
    return std::make_unique<detail::asio_event_listener>(io_, *this);
  }

  [[nodiscard]] time_point now() const noexcept override {
    return std::chrono::steady_clock::now();
  }
  [[nodiscard]] bool run_here(work_item& item) noexcept override {
    if (current() || !io_.get_executor().running_in_this_thread()) return false;
    const short_turn ran = run_short_turn(item, options_.max_items_per_turn, coarse_now());
    if (ran == short_turn::more) wake();
    return ran != short_turn::refused;
  }
  void work_started() noexcept override { io_.get_executor().on_work_started(); }
  void work_finished() noexcept override { io_.get_executor().on_work_finished(); }

 private:
  // A task that waits for an operation of another context may own sockets, whose destructors use
  // their service. So it ends after the context has shut down all services and destroyed their
  // handlers, and before it destroys any service: in the destructor of a handler that the context
  // never calls. A handler that is destroyed may post further ones by canceling operations; each
  // pass waits for those of the previous one.
  static constexpr int passes_of_shutdown = 8;
  class end_of_shutdown {
   public:
    end_of_shutdown(asio_scheduler& s, int passes) noexcept : scheduler_(&s), passes_(passes) {}
    end_of_shutdown(end_of_shutdown&& other) noexcept
        : scheduler_(std::exchange(other.scheduler_, nullptr)), passes_(other.passes_) {}
    end_of_shutdown& operator=(end_of_shutdown&&) = delete;
    ~end_of_shutdown() {
      if (scheduler_ && scheduler_->is_end_posted_) scheduler_->end_after_shutdown(passes_);
    }
    void operator()() const noexcept {}

   private:
    asio_scheduler* scheduler_;
    int passes_;  // that are left
  };

  void end_after_shutdown(int passes) noexcept {
    if (started_tasks() == 0) return;
    if (passes == 0) {
      end_other_tasks();
      return;
    }
    is_end_posted_ = false;
    try {
      asio::post(io_, end_of_shutdown(*this, passes - 1));
      is_end_posted_ = true;
    } catch (const std::bad_alloc&) {  // the destructor ends them, although it may be too late
    }
  }

  void end_other_tasks() noexcept {
    const bool has_tasks = started_tasks() > 0;
    end_pinned_tasks();
    if (has_tasks) on_tasks_ended();
  }

  // The time of the kernel's last tick, at most some milliseconds ago. It costs 7 ns instead of 43,
  // and only tells since when a task waits.
  static time_point coarse_now() noexcept {
    ::timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return time_point(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
  }

  // Called at most once before the next turn begins, so the single memory slot is free.
  [[gnu::noinline]] void wake() noexcept override { asio::post(io_, turn{this}); }

  // Called within a turn, so never on two threads at the same time.
  void arm(time_point when) noexcept override {
    if (is_ending()) return;
    if (when == no_deadline) {
      timer_.cancel();
      return;
    }
    try {
      timer_.expires_at(when);
      timer_.async_wait(alarm{this});
    } catch (const std::bad_alloc&) {
      unarmed_ = true;
      post_tick();  // tries again
    }
  }

  void post_tick() noexcept {
    if (!tick_.posted.exchange(true)) post(tick_);
  }

  using turn_memory = detail::handler_memory<1>;
  struct turn {
    using allocator_type = detail::handler_allocator<void, turn_memory*>;
    asio_scheduler* self;
    void operator()() const { self->run_turn(); }
    [[nodiscard]] allocator_type get_allocator() const noexcept {
      return allocator_type(&self->turn_memory_);
    }
  };

  // Asio keeps the handler of a cancelled wait until it has called it with the cancellation.
  using alarm_memory = detail::handler_memory<3>;
  struct alarm {
    using allocator_type = detail::handler_allocator<void, alarm_memory*>;
    asio_scheduler* self;
    void operator()(const asio_error_code& ec) const {
      if (!ec) self->post_tick();
    }
    [[nodiscard]] allocator_type get_allocator() const noexcept {
      return allocator_type(&self->alarm_memory_);
    }
  };

  // Expires the timers in a turn. It does not rely on the start of the next turn: if several
  // threads run the context, the timer can fire during a turn, after which it would not be set
  // again.
  struct tick : work_item {
    explicit tick(asio_scheduler& s) noexcept : self(s) {
      run_ = [](work_item& item) noexcept {
        auto& t = static_cast<tick&>(item);
        t.posted.store(false);
        t.self.expire_due();
        if (t.self.unarmed_.exchange(false)) t.self.rearm();
      };
    }
    asio_scheduler& self;
    std::atomic<bool> posted{false};
  };

  void run_turn() {
    if (run_ready(options_.max_items_per_turn, options_.spins_before_sleep)) wake();
  }

  // Before the timer, whose handlers they hold.
  turn_memory turn_memory_;
  alarm_memory alarm_memory_;
  asio::io_context& io_;
  const asio_scheduler_options options_;
  asio::steady_timer timer_;
  tick tick_{*this};
  std::atomic<bool> unarmed_{false};  // there was no memory for setting the timer
  bool is_end_posted_ = false;        // see end_of_shutdown
  detail::handler_scheduler listed_{*this, io_};
};

class asio_scheduler_service final : public asio::execution_context::service {
 public:
  using key_type = asio_scheduler_service;
  static inline asio::execution_context::id id;

  explicit asio_scheduler_service(asio::execution_context& io,
                                  const asio_scheduler_options& options = {})
      : asio::execution_context::service(io),
        scheduler_(static_cast<asio::io_context&>(io), options) {}

  [[nodiscard]] asio_scheduler& get() noexcept { return scheduler_; }

 private:
  // In the order that pending_operations describes, whichever of the two services ends first.
  void shutdown() noexcept override {
    if (!asio::has_service<detail::pending_operations>(context())) {
      scheduler_.shutdown();
      return;
    }
    auto& operations = asio::use_service<detail::pending_operations>(context());
    operations.withdraw_all();
    scheduler_.shutdown();
    operations.destroy_all();
  }

  asio_scheduler scheduler_;
};

}  // namespace

void detail::end_tasks_in(asio::execution_context& context) noexcept {
  if (asio::has_service<asio_scheduler_service>(context)) {
    asio::use_service<asio_scheduler_service>(context).get().shutdown();
  }
}

scheduler& get_scheduler(asio::io_context& io) {
  return asio::use_service<asio_scheduler_service>(io).get();
}

scheduler& get_scheduler(asio::io_context& io, const asio_scheduler_options& options) {
  if (options.max_items_per_turn == 0) {
    throw failure(errc::invalid_argument,
                  "asio_scheduler_options::max_items_per_turn is 0: use 1 or more");
  }
  if (!asio::has_service<asio_scheduler_service>(io)) {
    try {
      return asio::make_service<asio_scheduler_service>(io, options).get();
    } catch (const asio::service_already_exists&) {
      // Another thread has created it first.
    }
  }
  return get_scheduler(io);
}

asio::io_context* get_io_context(scheduler& s) noexcept {
  auto* self = dynamic_cast<asio_scheduler*>(&s);
  return self ? &self->context() : nullptr;
}

}  // namespace LEAT
