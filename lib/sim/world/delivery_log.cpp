#include "leat/sim/world/delivery_log.hpp"

#include "leat/sim/allocation_faults.hpp"
#include "leat/sim/world/world.hpp"

namespace LEAT::sim {

void delivery_log::throw_violation(const std::string& sentence) const {
  throw invariant_violation("delivery log '" + name_ + "': " + sentence);
}

delivery_log::entry& delivery_log::find(std::uint64_t id, const char* verb) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) {
    throw_violation("item " + std::to_string(id) + " was " + verb +
                    ", but was never pushed, or was rejected");
  }
  return found->second;
}

void delivery_log::record_push(std::uint64_t producer, std::uint64_t id) {
  const allocation_faults::without_faults own;
  const bool fresh = entries_.try_emplace(id, entry{producer, pushed_by_[producer]++}).second;
  if (!fresh) throw_violation("item " + std::to_string(id) + " was pushed twice");
}

void delivery_log::record_rejected(std::uint64_t id) {
  const allocation_faults::without_faults own;
  if (find(id, "rejected").taken) {
    throw_violation("item " + std::to_string(id) + " was rejected, but a consumer received it");
  }
  entries_.erase(id);
}

void delivery_log::record_pop(std::uint64_t consumer, std::uint64_t id) {
  const allocation_faults::without_faults own;
  entry& e = find(id, "popped");
  const std::string what = "item " + std::to_string(id) + " of producer " +
                           std::to_string(e.producer) + " was delivered to consumer " +
                           std::to_string(consumer);
  if (e.taken) throw_violation(what + " after an earlier delivery");
  e.taken = true;
  ++taken_;
  // The order is that of the items of one producer at one consumer.
  std::uint64_t& next = next_[e.producer][consumer];
  if (ordered_ && e.number < next) throw_violation(what + " after a later item");
  next = e.number + 1;
}

void delivery_log::check_complete(std::size_t inside) const {
  const allocation_faults::without_faults own;
  const std::size_t missing = entries_.size() - taken_;
  if (missing == inside) return;
  std::string example;
  for (const auto& [id, e] : entries_) {
    if (!e.taken) {
      example =
          ", such as item " + std::to_string(id) + " of producer " + std::to_string(e.producer);
      break;
    }
  }
  throw_violation(std::to_string(missing) +
                  " accepted items were not delivered, but the queue holds " +
                  std::to_string(inside) + example);
}

}  // namespace LEAT::sim
