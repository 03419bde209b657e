#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "leat/train/checkpoint/checkpoint_registry.hpp"

namespace LEAT::detail {

/// Returns a function that reads the step from an entry of a registry. Empty if there is no such
/// entry, or if it is not an integer; then `warn` is called. Source: tf.train.get_global_step.
[[nodiscard]] std::function<std::int64_t()> registered_step(
    const checkpoint_registry& state, const std::string& name,
    const std::function<void(const std::string&)>& warn);

}  // namespace LEAT::detail
