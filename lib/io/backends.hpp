#pragma once

#include <memory>
#include <sys/stat.h>

#include "leat/core/detail/event_loop_scheduler.hpp"
#include "leat/io/file_backend.hpp"

namespace leat::detail {

/// Carries out a request with plain system calls; sets its result.
void execute(file_request& request) noexcept;

/// The same for a request that is answered from the kernel's caches; false for any other.
[[nodiscard]] bool execute_now(file_request& request) noexcept;

/// What is left to do for an open whose descriptor is there: tells the status. Gives the result of
/// the request; after an error the descriptor is closed.
[[nodiscard]] std::int64_t finish_open(const file_request& request, int descriptor) noexcept;

/// What a status request is told of a file.
[[nodiscard]] file_status to_file_status(const struct stat& s) noexcept;

/// Has the worker threads do everything. Errors: std::bad_alloc.
[[nodiscard]] std::unique_ptr<file_backend> make_thread_backend();

/// A ring of the scheduler's own; null, with an errno in `refusal`, where the system refuses it.
[[nodiscard]] std::unique_ptr<file_backend> make_uring_backend(event_loop_scheduler& home,
                                                               int& refusal);

}  // namespace leat::detail
