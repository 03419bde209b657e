#pragma once

// All hooks that leat has for a monitored_session. Derive from session_hook for one of your own.

#include "leat/train/monitored/checkpoint_saver_hook.hpp"
#include "leat/train/monitored/function_hook.hpp"
#include "leat/train/monitored/logging_hook.hpp"
#include "leat/train/monitored/nan_hook.hpp"
#include "leat/train/monitored/step_counter_hook.hpp"
#include "leat/train/monitored/step_waiter_hook.hpp"
#include "leat/train/monitored/stop_at_step_hook.hpp"
#include "leat/train/monitored/summary_saver_hook.hpp"
