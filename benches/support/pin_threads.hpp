#pragma once

#include <cstddef>

#include <leat/async/loop/runtime.hpp>
#include <leat/async/task.hpp>
#include <leat/async/task_group.hpp>

#include "support/bench.hpp"

namespace bench {

inline leat::task<> pin_this_thread(std::size_t cpu) {
  pin(cpu);
  co_return;
}

/// Keeps thread number i of a runtime with two threads on processor i % cpus; see pin().
inline void pin_threads(leat::runtime& rt, std::size_t cpus = 2) {
  leat::task_group g;
  for (std::size_t i = 0; i < 2; ++i) g.spawn_on(rt.get_scheduler(i), pin_this_thread(i % cpus));
  leat::block_on(g.join());
}

}  // namespace bench
