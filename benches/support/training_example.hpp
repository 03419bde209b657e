#pragma once

#include <cstddef>

#include <sched.h>

#include "support/bench.hpp"

namespace bench {

/// What the Examples of the pipeline's data have: an image of bytes, features of floats, a label;
/// about 1 KiB.
struct training_example {
  static constexpr std::size_t image_size = 784;
  static constexpr std::size_t features = 48;
};

/// Of the pipelines that are compared.
constexpr std::size_t shuffle_capacity = 10'000;
constexpr std::size_t batch_size = 128;

/// pipeline/1-core or pipeline/2-cores, with more behind it.
inline std::size_t cores_of(const request& r) {
  return r.workload.starts_with("pipeline/1-core") ? 1 : 2;
}

/// Keeps this process to the first processors.
inline void use_cores(const request& r) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (std::size_t i = 0; i < cores_of(r); ++i) CPU_SET(i, &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0) std::abort();
}

}  // namespace bench
