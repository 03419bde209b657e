#pragma once

namespace leat::detail {

/// A number that a child of fork() sees changed: what was made before it, with threads or a ring of
/// the parent's, is not the child's. Thread safety: thread-safe.
[[nodiscard]] unsigned fork_generation() noexcept;

}  // namespace leat::detail
