// A supervised job, its pipeline and its checkpoints, on a machine and a device that fail: what it
// has learnt in the end is each element once, as if nothing had happened.

#include "simulation/scenarios.hpp"
#include "train/interrupted_job.hpp"

namespace simulation {

leat::task<> supervising(leat::sim::world& w) {
  leat_test::interrupted_job job(w);
  co_await job.run();
}

}  // namespace simulation
