#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "leat/train/monitored/monitored_session.hpp"
#include "leat/train/monitored/session_hook.hpp"

namespace leat::detail {

using hook_list = std::vector<std::shared_ptr<session_hook>>;

/// The hooks of a monitored session: those that its options list, then those for what they ask to
/// be summarised and saved. These come last: nothing is saved that another hook has refused.
///
/// Errors: invalid_argument for a hook that is none.
[[nodiscard]] hook_list make_hook_list(const monitored_session_options& o, bool knows_steps);

/// The options of the supervisor beneath them: it does nothing that a hook does.
[[nodiscard]] supervisor_options disable_services(supervisor_options o,
                                                  std::function<task<void>()> at_end);

}  // namespace leat::detail
