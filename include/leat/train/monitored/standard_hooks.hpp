#pragma once

// Includes all hooks that leat provides for a monitored_session. Derive your own from session_hook.

#include "leat/train/monitored/checkpoint_saver_hook.hpp"
#include "leat/train/monitored/function_hook.hpp"
#include "leat/train/monitored/logging_hook.hpp"
#include "leat/train/monitored/nan_hook.hpp"
#include "leat/train/monitored/step_counter_hook.hpp"
#include "leat/train/monitored/step_waiter_hook.hpp"
#include "leat/train/monitored/stop_at_step_hook.hpp"
#include "leat/train/monitored/summary_saver_hook.hpp"
