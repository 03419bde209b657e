#pragma once

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// A number that differs in a child of fork(). Objects with threads or a ring of the parent do not
/// belong to the child. Thread safety: thread-safe.
[[nodiscard]] unsigned fork_generation() noexcept;

}  // namespace LEAT::detail
