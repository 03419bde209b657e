#pragma once

#include <cstddef>

#include <sched.h>

#include "support/bench.hpp"

namespace bench {

/// The contents of an Example of the pipeline workloads: an image in bytes, features in floats, and
/// a label, about 1 KiB in total.
struct training_example {
  static constexpr std::size_t image_size = 784;
  static constexpr std::size_t features = 48;
};

/// The options of leat's pipeline and of its peer.
constexpr std::size_t shuffle_capacity = 10'000;
constexpr std::size_t batch_size = 128;

/// Returns 1 for pipeline/1-core and pipeline/1-core/..., and 2 for pipeline/2-cores.
inline std::size_t cores_of(const request& r) {
  return r.workload.starts_with("pipeline/1-core") ? 1 : 2;
}

/// Binds this process to the first cores.
inline void use_cores(const request& r) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (std::size_t i = 0; i < cores_of(r); ++i) CPU_SET(i, &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0) std::abort();
}

}  // namespace bench
