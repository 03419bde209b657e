#pragma once

// Around a training loop: checkpoints, summaries and the supervisor.

#include "leat/train/checkpoint/checkpoint_directory.hpp"
#include "leat/train/checkpoint/checkpoint_registry.hpp"
#include "leat/train/checkpoint/directory_lock.hpp"
#include "leat/train/checkpoint/rank_checkpoints.hpp"
#include "leat/train/checkpoint/saver.hpp"
#include "leat/train/checkpoint/saver_options.hpp"
#include "leat/train/summary/add_fullness.hpp"
#include "leat/train/summary/event_reader.hpp"
#include "leat/train/summary/event_writer.hpp"
#include "leat/train/summary/stage_rates.hpp"
#include "leat/train/summary/step_rate.hpp"
#include "leat/train/supervisor/session.hpp"
#include "leat/train/supervisor/session_manager_options.hpp"
#include "leat/train/supervisor/supervisor.hpp"
#include "leat/train/supervisor/supervisor_options.hpp"
