#include "leat/async/blocking/blocking_pool.hpp"

#include <string>
#include <string_view>

#include "async/blocking/blocking_threads.hpp"
#include "base/internal/never_destroyed.hpp"
#include "leat/base/error.hpp"

namespace LEAT {

blocking_pool::blocking_pool(const blocking_pool_options& options) : options_(options) {
  if (options.threads > 0) return;
  throw failure(errc::invalid_argument, "blocking_pool_options::threads is 0: use 1 or more");
}

blocking_pool::blocking_pool(std::string_view name)
    : blocking_pool(blocking_pool_options{.name = std::string(name)}) {}

blocking_pool::~blocking_pool() {
  detail::blocking_threads* const there = threads_.load(std::memory_order_acquire);
  if (there && there->is_in_its_process()) there->release();
}

// In a child of fork(), the threads of the parent, and their lock, are of no use.
detail::blocking_threads& blocking_pool::threads() {
  // acquire, and release below: the object is complete.
  detail::blocking_threads* there = threads_.load(std::memory_order_acquire);
  if (there && there->is_in_its_process()) [[likely]]
    return *there;
  auto* const made = new detail::blocking_threads(options_);
  if (threads_.compare_exchange_strong(there, made, std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
    return *made;
  }
  made->release();
  return *there;  // another thread was faster
}

blocking_pool_statistics blocking_pool::statistics() const {
  const detail::blocking_threads* const there = threads_.load(std::memory_order_acquire);
  return there && there->is_in_its_process() ? there->statistics() : blocking_pool_statistics();
}

blocking_pool& default_blocking_pool() {
  static detail::never_destroyed<blocking_pool> instance;
  return instance.get();
}

}  // namespace LEAT
