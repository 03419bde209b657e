#include "base/internal/fork_generation.hpp"

#include <atomic>
#include <pthread.h>

namespace LEAT::detail {
namespace {

std::atomic<unsigned> generation{0};

[[maybe_unused]] const int generation_registered =
    ::pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1); });

}  // namespace

unsigned fork_generation() noexcept {
  // relaxed: a child starts with one thread, which has changed the counter itself.
  return generation.load(std::memory_order_relaxed);
}

}  // namespace LEAT::detail
