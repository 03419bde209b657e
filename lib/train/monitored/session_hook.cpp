#include "leat/train/monitored/session_hook.hpp"

#include <string>

#include "leat/base/error.hpp"

namespace LEAT {

task<void> session_hook::begin(supervisor&) { co_return; }
task<void> session_hook::after_create_session(run_context&) { co_return; }
task<void> session_hook::before_run(run_context&) { co_return; }
task<void> session_hook::after_run(run_context&) { co_return; }
task<void> session_hook::end(run_context&) { co_return; }

std::int64_t session_hook::require_step(const supervisor& sv, std::string_view hook) {
  if (const std::optional<std::int64_t> step = sv.global_step()) return *step;
  throw failure(errc::failed_precondition,
                std::string(hook) +
                    ": step number is unknown: register an integer as 'global_step', or set "
                    "supervisor_options::global_step");
}

}  // namespace LEAT
