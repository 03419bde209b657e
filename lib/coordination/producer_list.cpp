#include "leat/coordination/internal/producer_list.hpp"

#include <algorithm>

#include "base/internal/held_during_fork.hpp"
#include "base/text/seconds_text.hpp"
#include "leat/base/internal/thread_mutex.hpp"

namespace LEAT::detail {
namespace {

// Lock order: this one, then the lock of a runner or of its queue.
constinit thread_mutex producers_mutex;
[[maybe_unused]] const int registered = held_during_fork<producers_mutex>();
constinit producer_list_entry* first_producer LEAT_GUARDED_BY(producers_mutex) = nullptr;

}  // namespace

producer_list_entry::producer_list_entry(const queue_runner& runner, const queue_base& queue,
                                         duration patience) noexcept
    : runner_(runner), queue_(queue), patience_(patience) {
  const thread_lock lock(producers_mutex);
  next_ = first_producer;
  first_producer = this;
}

producer_list_entry::~producer_list_entry() {
  const thread_lock lock(producers_mutex);
  producer_list_entry** at = &first_producer;
  while (*at != this) at = &(*at)->next_;
  *at = next_;
}

std::string unstarted_producers_text() {
  std::string names;
  const thread_lock lock(producers_mutex);
  for (const producer_list_entry* p = first_producer; p; p = p->next_) {
    if (p->runner_.last_start()) continue;
    names += names.empty() ? "; call start(coordinator) of producer '" : ", '";
    names += p->runner_.queue_name() + '\'';
  }
  return names;
}

std::optional<unstarted_producer> find_unstarted_producer(const queue_base& queue) {
  std::optional<duration> patience;
  {
    const thread_lock lock(producers_mutex);
    for (const producer_list_entry* p = first_producer; p; p = p->next_) {
      if (&p->queue_ != &queue) continue;
      if (p->runner_.last_start()) return std::nullopt;
      patience = std::min(patience.value_or(p->patience_), p->patience_);
    }
  }
  if (!patience) return std::nullopt;
  return unstarted_producer{*patience, queue.name()};
}

failure unstarted_producer::error(const std::string& missing) const {
  return {errc::deadline_exceeded, missing + " for " + seconds_text(patience) + " s, producer '" +
                                       name + "' was never started: call its start(coordinator)"};
}

bool waits_for_unstarted_producer() {
  const thread_lock lock(producers_mutex);
  for (const producer_list_entry* p = first_producer; p; p = p->next_) {
    if (p->runner_.last_start()) continue;
    const queue_statistics s = p->queue_.statistics();
    if (s.waiting_pops > 0 && s.pushed == 0) return true;
  }
  return false;
}

}  // namespace LEAT::detail
