#include "leat/train/monitored/logging_hook.hpp"

#include <cstdio>
#include <optional>
#include <utility>

#include "base/internal/standard_error.hpp"
#include "leat/async/scheduler.hpp"

namespace leat {
namespace {

constexpr const char* logging_name = "logging_hook";

std::string format_number(double number) {
  char text[32];
  const int length = std::snprintf(text, sizeof text, "%.6g", number);
  return std::string(text, static_cast<std::size_t>(length));
}

}  // namespace

logging_hook::logging_hook(logging_hook_options options)
    : options_(std::move(options)), timer_(options_.every, logging_name) {}

task<void> logging_hook::begin(supervisor& sv) {
  static_cast<void>(require_step(sv, logging_name));
  co_return;
}

task<void> logging_hook::after_create_session(run_context&) {
  timer_.reset();
  co_return;
}

task<void> logging_hook::after_run(run_context& run) {
  const std::int64_t step = require_step(run.get_supervisor(), logging_name);
  if (!timer_.take(step, scheduler::current()->now())) co_return;
  std::string line = "step " + std::to_string(step);
  const char* separator = ": ";
  const bool all = options_.names.empty();
  const std::vector<std::string> names =
      all ? run.results().names() : std::vector<std::string>(options_.names);
  for (const std::string& name : names) {
    const std::optional<double> number = run.results().number(name);
    if (!number && all) continue;
    line += separator + name + " = " + (number ? format_number(*number) : "(not numeric)");
    separator = ", ";
  }
  if (options_.to) {
    options_.to(line);
  } else {
    detail::print_stderr("%s\n", line.c_str());
  }
}

}  // namespace leat
