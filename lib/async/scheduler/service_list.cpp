#include "leat/async/scheduler/detail/service_list.hpp"

namespace LEAT::detail {

// Entries stay until the end, because another thread may read the list. Only `service` changes, and
// null stands for a service that was removed.
service_list::~service_list() {
  for (entry* e = first_.load(std::memory_order_relaxed); e;) {
    entry* const next = e->next;
    delete e;
    e = next;
  }
}

void service_list::set(const service_key& key, void* service) {
  entry* const first = first_.load(std::memory_order_relaxed);
  for (entry* e = first; e; e = e->next) {
    if (&e->key == &key) return e->service.store(service, std::memory_order_release);
  }
  if (service) first_.store(new entry{key, service, first}, std::memory_order_release);
}

void service_list::clear() noexcept {
  for (entry* e = first_.load(std::memory_order_relaxed); e; e = e->next) {
    e->service.store(nullptr, std::memory_order_release);
  }
}

}  // namespace LEAT::detail
