#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "leat/train/monitored/monitored_session.hpp"
#include "leat/train/monitored/session_hook.hpp"

namespace LEAT::detail {

using hook_list = std::vector<std::shared_ptr<session_hook>>;

/// Returns the hooks of a monitored session: the hooks of its options, then the hooks for the
/// requested summaries and saves. Saving hooks are last, so that a state that another hook rejects
/// is not saved.
///
/// Errors: invalid_argument for a null hook.
[[nodiscard]] hook_list make_hook_list(const monitored_session_options& o, bool knows_steps);

/// Returns the options of the supervisor: it does nothing that a hook does.
[[nodiscard]] supervisor_options disable_services(supervisor_options o,
                                                  std::function<task<void>()> at_end);

}  // namespace LEAT::detail
