#include "leat/async/loop/run.hpp"

#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <typeinfo>

#include "async/internal/live_tasks_text.hpp"
#include "base/internal/standard_error.hpp"
#include "base/text/seconds_text.hpp"
#include "leat/async/condition_wait.hpp"
#include "leat/async/dump/dump.hpp"
#include "leat/async/loop/asio_scheduler.hpp"
#include "leat/async/loop/stop_on_signal.hpp"
#include "leat/async/task_scope.hpp"
#include "leat/base/asio.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"

#include LEAT_ASIO(io_context.hpp)

namespace LEAT::detail {
namespace {

std::string name_of_signal(int signal) {
  switch (signal) {
    case SIGHUP: return "SIGHUP";
    case SIGINT: return "SIGINT";
    case SIGQUIT: return "SIGQUIT";
    case SIGTERM: return "SIGTERM";
    case SIGUSR1: return "SIGUSR1";
    case SIGUSR2: return "SIGUSR2";
    default: return "signal " + std::to_string(signal);
  }
}

std::string name_of_type(const std::type_info& type) {
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, nullptr), &std::free);
  return name ? name.get() : type.name();
}

std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::exception& e) {
    std::string message = e.what();
    const auto* const outer = dynamic_cast<const std::nested_exception*>(&e);
    if (outer && outer->nested_ptr()) message += ": " + message_of(outer->nested_ptr());
    return message;
  } catch (...) {
    return "exception of type " + name_of_type(*abi::__cxa_current_exception_type());
  }
}

void print_error(const std::exception_ptr& error) noexcept {
  try {
    write_stderr("error: " + message_of(error) + "\n");
  } catch (...) {
    write_stderr("error: out of memory\n");
  }
}

void print_signal(int signal) noexcept {
  try {
    write_stderr("stopped by " + name_of_signal(signal) + "\n");
  } catch (...) {
    write_stderr("stopped by a signal\n");
  }
}

// The event loop of one call of run(), on the calling thread.
class main_loop {
 public:
  main_loop(const run_options& options, const std::source_location& where)
      : options_(options), end_(*this, where), late_(*this) {
    if (options.stop_grace < duration::zero()) {
      throw failure(errc::invalid_argument, "run_options::stop_grace is negative: set 0 or more");
    }
    if (options.signals.empty()) return;
    guard_.emplace(scheduler_, *this, std::span<const int>(options.signals));
  }

  // Runs `main` and the work that it leaves behind.
  // The loop first runs until the main task ends or a stop is requested, then, after a stop, until
  // the main task has ended, and finally for the work that it has left behind. Each of the last two
  // runs reports late tasks after the grace period, at most once in all.
  void run(task<void> main, const std::source_location& where) {
    scope_.spawn_on(scheduler_, std::move(main), "", where);
    scope_.when_idle(end_);
    try {
      io_.run();  // until a stop is requested or the main task ends
    } catch (...) {
      handler_failed();
    }
    if (!ended_) run_with_grace();
    run_with_grace();
  }

  [[nodiscard]] std::exception_ptr error() const noexcept {
    return handler_error_ ? handler_error_ : scope_.error();
  }

  /// The signal that requested the stop, or 0.
  [[nodiscard]] int signal() const noexcept { return signal_; }

  // Called by the guard, for a signal.
  void request_stop() noexcept {
    signal_ = guard_->signal();
    scope_.request_scope_stop();
    io_.stop();
  }

 private:
  struct main_end : condition_wait {
    main_end(main_loop& loop, const std::source_location& where) noexcept
        : condition_wait(loop.scope_, root_scope::idle, no_deadline, where), owner(loop) {
      run_ = [](work_item& item) noexcept { static_cast<main_end&>(item).owner.main_ended(); };
    }
    main_loop& owner;
  };

  struct late_report : work_item {
    explicit late_report(main_loop& loop) noexcept : owner(loop) {
      run_ = [](work_item& item) noexcept {
        static_cast<late_report&>(item).owner.print_late_tasks();
      };
    }
    main_loop& owner;
  };

  // The stop reaches scopes that outlive the tasks that created them, such as the scope of a
  // pipeline, so that the loop ends. The guard would keep it running.
  void main_ended() noexcept {
    ended_ = true;
    guard_.reset();
    scope_.request_scope_stop();
    io_.stop();
  }

  // Called for an exception of a handler of the program. It stops the main task.
  void handler_failed() noexcept {
    if (!handler_error_) handler_error_ = std::current_exception();
    scope_.request_scope_stop();
  }

  // Runs the loop until `end`, io_.stop() is called or no work is left.
  void run_until(time_point end) noexcept {
    for (;;) {
      try {
        if (end == no_deadline) {
          io_.run();
        } else {
          io_.run_until(end);
        }
        return;
      } catch (...) {
        handler_failed();
      }
    }
  }

  // Runs the loop until io_.stop() is called or no work is left. Reports tasks that are late.
  void run_with_grace() noexcept {
    io_.restart();
    const time_point end = deadline_after(scheduler_.now(), options_.stop_grace);
    if (end != no_deadline && !reported_) {
      run_until(end);
      if (io_.stopped()) return;
      reported_ = true;
      scheduler_.post(late_);  // a dump reads the tasks of a scheduler in its turn
    }
    run_until(no_deadline);
  }

  void print_late_tasks() const noexcept {
    try {
      std::string tasks = describe_live_tasks(scope_);
      const char* what = "tasks still running ";
      if (tasks.empty()) {  // only work that the main task left behind
        what = "tasks or Asio operations still running ";
        std::ostringstream all;
        dump(all);
        tasks = std::move(all).str();
      }
      const std::string after = ended_ ? "the end of the main task" : "the stop request";
      write_stderr("leat: run: " + std::string(what) + seconds_text(options_.stop_grace) +
                   " s after " + after + ":\n" + tasks);
    } catch (...) {
      write_stderr("leat: run: out of memory: tasks that are still running not listed\n");
    }
  }

  const run_options& options_;
  asio::io_context io_{1};
  scheduler& scheduler_ = get_scheduler(io_, {.spins_before_sleep = 100});
  root_scope scope_{"run"};
  std::optional<stop_on_signal> guard_;
  main_end end_;
  late_report late_;
  std::exception_ptr handler_error_;
  int signal_ = 0;
  bool ended_ = false;     // the main task
  bool reported_ = false;  // the tasks that are late
};

}  // namespace

int run_main(task<void> (*start)(void* main, int& status), void* main, const run_options& options,
             const std::source_location& where) noexcept {
  LEAT_ASSERT(scheduler::current() == nullptr,
              "run() on a scheduler thread would deadlock: co_await the task");
  try {
    int status = 0;
    main_loop loop(options, where);
    loop.run(start(main, status), where);
    const std::exception_ptr error = loop.error();
    if (!error) return status;
    if (loop.signal() != 0 && to_error_code(error) == errc::cancelled) {
      print_signal(loop.signal());
      return 128 + loop.signal();
    }
    print_error(error);
  } catch (...) {
    print_error(std::current_exception());
  }
  return 1;
}

}  // namespace LEAT::detail
