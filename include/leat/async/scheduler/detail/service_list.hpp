#pragma once

#include <atomic>

#include "leat/async/scheduler/service_key.hpp"

namespace LEAT::detail {

/// The services of a scheduler, at most one for each key.
///
/// Thread safety: find() is thread-safe. One thread calls the other members.
/// Cost: O(services).
class service_list {
 public:
  service_list() = default;
  service_list(const service_list&) = delete;
  service_list& operator=(const service_list&) = delete;
  ~service_list();

  /// Returns the service of this key, or null.
  [[nodiscard]] void* find(const service_key& key) const noexcept {
    // acquire: pairs with set(), so that the entry and the service are complete.
    for (const entry* e = first_.load(std::memory_order_acquire); e; e = e->next) {
      if (&e->key == &key) return e->service.load(std::memory_order_acquire);
    }
    return nullptr;
  }

  /// Sets the service of this key, or removes it if `service` is null.
  /// Errors: std::bad_alloc, only for a key that this list has not had.
  void set(const service_key& key, void* service);

  /// Removes all services.
  void clear() noexcept;

 private:
  struct entry {
    const service_key& key;
    std::atomic<void*> service;
    entry* const next;
  };

  std::atomic<entry*> first_{nullptr};
};

}  // namespace LEAT::detail
