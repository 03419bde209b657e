#pragma once

#include "leat/files/file_backend.hpp"

// Tells the sanitizers that a buffer belongs to the kernel, or is unused.

namespace LEAT::detail {

/// From here on, the buffer of a read must not be accessed, and the buffer of a write not changed.
void mark_kernel_owned(const file_request& request) noexcept;

/// The buffer belongs to the submitter again. Called on the thread that the kernel notified, or
/// that is about to execute the request itself.
void mark_user_owned(const file_request& request) noexcept;

/// Marks memory as unused, and as used again.
void mark_unused(const void* memory, std::size_t size) noexcept;
void mark_used(const void* memory, std::size_t size) noexcept;

}  // namespace LEAT::detail
