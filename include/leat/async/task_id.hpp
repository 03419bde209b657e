#pragma once

#include <cstdint>

#include "leat/base/flavour.hpp"

namespace LEAT {

/// The identity of a task. Unlike an address, it is never reused in a process.
struct task_id {
  std::uint64_t scope = 0;  ///< number of the scope that owns the task, from 1; 0: no task
  std::uint64_t index = 0;  ///< number of the task among all that the scope has spawned, from 1

  friend bool operator==(const task_id&, const task_id&) = default;
};

}  // namespace LEAT
