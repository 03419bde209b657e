// expect: queue element must be movable without throwing
#include <utility>

#include "leat/input/batcher.hpp"

struct job {
  job(job&&) noexcept {}
  job& operator=(job&&) { return *this; }
};
leat::batcher<job> batches({.batch_size = 3});
