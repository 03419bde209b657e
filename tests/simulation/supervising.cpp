// A supervised job, its pipeline and its checkpoints, on a machine and a device that fail. In the
// end it has learnt each element once, as without faults.

#include "simulation/scenarios.hpp"
#include "train/interrupted_job.hpp"

namespace simulation {

leat::task<> supervising(leat::sim::world& w) {
  leat_test::interrupted_job job(w);
  co_await job.run();
}

}  // namespace simulation
