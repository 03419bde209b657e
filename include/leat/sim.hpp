#pragma once

// Simulated worlds made from a seed, with virtual time, for tests.

#include "leat/sim/allocation_faults.hpp"
#include "leat/sim/decision_source.hpp"
#include "leat/sim/file_system/file_system.hpp"
#include "leat/sim/network/network.hpp"
#include "leat/sim/network/network_options.hpp"
#include "leat/sim/simulated_process.hpp"
#include "leat/sim/virtual_scheduler.hpp"
#include "leat/sim/world/delivery_log.hpp"
#include "leat/sim/world/host.hpp"
#include "leat/sim/world/sweep.hpp"
#include "leat/sim/world/world.hpp"
#include "leat/sim/world/world_options.hpp"
#include "leat/sim/world_part.hpp"
