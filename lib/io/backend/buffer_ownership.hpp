#pragma once

#include "leat/io/backend/file_backend.hpp"

// What the sanitizers do not see: that a buffer belongs to the kernel, or to nobody.

namespace leat::detail {

/// The buffer of a read is not to be touched from here on, nor that of a write to be written to.
void mark_kernel_owned(const file_request& request) noexcept;

/// The buffer is the submitter's again. On the thread that has been told by the kernel, or that is
/// about to carry out the request itself.
void mark_user_owned(const file_request& request) noexcept;

/// Memory that is set aside, and that is used again.
void mark_unused(const void* memory, std::size_t size) noexcept;
void mark_used(const void* memory, std::size_t size) noexcept;

}  // namespace leat::detail
