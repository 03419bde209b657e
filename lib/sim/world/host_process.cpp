#include "sim/world/host_process.hpp"

#include <source_location>
#include <span>
#include <utility>

#include "base/internal/error_text.hpp"
#include "leat/base/error.hpp"
#include "leat/sim/world/host.hpp"

namespace LEAT::sim {

host_process::host_process(host& h, main_function main, const run_options& options, bool& changed)
    : host_(h), main_(std::move(main)), options_(options), changed_(changed) {}

void host_process::begin(scheduler& on) {
  if (!options_.signals.empty()) {
    guard_.emplace(on, stop_, std::span<const int>(options_.signals));
  }
  scope_.spawn_on(on, run_main(), host_.name(), std::source_location::current());
}

task<void> host_process::run_main() {
  struct end_mark {
    ~end_mark() { process.changed_ = process.is_main_over_ = true; }
    host_process& process;
  };
  const end_mark mark{*this};
  task<void> running = main_(host_);
  co_await leat::detail::untraced<void>{std::move(running)};
}

void host_process::release_guard() noexcept {
  if (!guard_) return;
  signal_ = guard_->signal();
  guard_.reset();
}

bool host_process::take_main_end() noexcept {
  if (main_ended_ || !is_main_over_) return false;
  main_ended_ = true;
  release_guard();
  scope_.request_scope_stop();
  return true;
}

void host_process::end() {
  error_ = scope_.error();
  if (!error_) {
    status_ = 0;
  } else if (signal_ != 0 && to_error_code(error_) == errc::cancelled) {
    status_ = 128 + signal_;
    error_ = nullptr;
  } else {
    status_ = 1;
  }
  ended_.set();
}

void host_process::killed(int status) {
  main_ended_ = true;
  release_guard();
  status_ = status;
  ended_.set();
}

std::string host_process::end_text() const {
  std::string text = "process ends with status " + std::to_string(*status_);
  return error_ ? text + ": " + leat::detail::error_message(error_) : text;
}

}  // namespace LEAT::sim
