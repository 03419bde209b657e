#include "base/fork_generation.hpp"

#include <atomic>
#include <pthread.h>

namespace leat::detail {
namespace {

std::atomic<unsigned> generation{0};

}  // namespace

unsigned fork_generation() noexcept {
  [[maybe_unused]] static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1); });
  // relaxed: a child starts with one thread, which has changed the counter itself.
  return generation.load(std::memory_order_relaxed);
}

}  // namespace leat::detail
