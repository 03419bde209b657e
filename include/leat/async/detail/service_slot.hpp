#pragma once

#include <cstddef>

namespace leat {

/// The services that a scheduler can have, at most one of each; see scheduler::find_service().
enum class service_slot : unsigned char { files, blocking_calls };
/// Number of values of service_slot.
inline constexpr std::size_t service_slots = 2;

}  // namespace leat
