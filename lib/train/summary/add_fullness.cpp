#include "leat/train/summary/add_fullness.hpp"

namespace LEAT {

void add_fullness(summary& to, const fullness& f) { to.add_scalar(f.tag, double{f.value}); }

void add_fullness(summary& to, std::span<const queue_base* const> queues) {
  for (const queue_base* const q : queues) add_fullness(to, queue_fullness(*q));
}

}  // namespace LEAT
