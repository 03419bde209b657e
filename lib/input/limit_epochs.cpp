#include "leat/input/limit_epochs.hpp"

#include "leat/base/error.hpp"

namespace LEAT::detail {
namespace {

std::uint64_t checked(std::optional<std::int64_t> num_epochs, std::string_view owner) {
  if (!num_epochs) return UINT64_MAX;  // more than any program counts
  if (*num_epochs > 0) return static_cast<std::uint64_t>(*num_epochs);
  throw failure(errc::invalid_argument, std::string(owner) + ": num_epochs is " +
                                            std::to_string(*num_epochs) +
                                            ", must be 1 or more: leave it unset for no limit");
}

}  // namespace

epoch_limit::epoch_limit(std::optional<std::int64_t> num_epochs, std::string_view owner)
    : count_(checked(num_epochs, owner)) {}

std::optional<std::uint64_t> epoch_limit::next() noexcept {
  // relaxed: the counter orders nothing else.
  std::uint64_t begun = begun_.load(std::memory_order_relaxed);
  do {
    if (begun == count_) return std::nullopt;
  } while (!begun_.compare_exchange_weak(begun, begun + 1, std::memory_order_relaxed));
  return begun;
}

}  // namespace LEAT::detail
