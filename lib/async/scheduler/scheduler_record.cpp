#include "leat/async/scheduler/detail/scheduler_record.hpp"

#include <algorithm>

#include "async/scheduler/scheduler_records.hpp"
#include "base/internal/held_during_fork.hpp"
#include "base/internal/never_destroyed.hpp"

namespace LEAT::detail {
namespace {

constinit std::mutex mutex_of_records;
[[maybe_unused]] const int records_registered = held_during_fork<mutex_of_records>();

template <class Number>
Number read_counter(const Number& counter) noexcept {
  return __atomic_load_n(&counter, __ATOMIC_RELAXED);
}

}  // namespace

std::mutex& scheduler_records::mutex() noexcept { return mutex_of_records; }

// Call it with the lock.
std::vector<scheduler_records::slot>& scheduler_records::slots() noexcept {
  static never_destroyed<std::vector<slot>> instance;
  return instance.get();
}

void scheduler_records::add(scheduler_record& record) {
  static constinit std::uint64_t last_serial = 0;  // guarded by the lock
  const std::lock_guard lock(mutex());
  std::vector<slot>& all = slots();
  auto vacant = std::ranges::find(all, nullptr, &slot::living);
  if (vacant == all.end()) vacant = all.insert(all.end(), slot());
  vacant->living = &record;
  record.number_ = static_cast<std::size_t>(vacant - all.begin());
  record.serial_ = ++last_serial;
}

void scheduler_records::vacate(const scheduler_record& record) noexcept {
  slot& own = slots()[record.number_];
  own.ended = sum(own);
  add_times(record, own.ended);
  own.ended.tasks = 0;
  own.living = nullptr;
}

void scheduler_records::add_times(const scheduler_record& record,
                                  scheduler_counts& counts) noexcept {
  counts.busy += std::chrono::nanoseconds(record.busy_);
  counts.longest_turn =
      std::max<duration>(counts.longest_turn, std::chrono::nanoseconds(record.longest_));
  counts.long_turns += record.long_turns_;
}

scheduler_counts scheduler_records::sum(const slot& s) noexcept {
  scheduler_counts counts = s.ended;
  counts.turns += read_counter(s.living->turns_);
  counts.all_tasks += read_counter(s.living->all_tasks_);
  counts.tasks += read_counter(s.living->tasks_);
  return counts;
}

scheduler_record::scheduler_record() { scheduler_records::add(*this); }

}  // namespace LEAT::detail
