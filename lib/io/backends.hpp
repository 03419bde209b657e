#pragma once

#include <memory>

#include "leat/core/detail/event_loop_scheduler.hpp"
#include "leat/io/file_backend.hpp"

namespace leat::detail {

/// Carries out a request with plain system calls; sets its result.
void execute(file_request& request) noexcept;

/// A read that is answered from the page cache, or not at all.
[[nodiscard]] bool read_cached(file_request& request) noexcept;

/// Worker threads, shared by the process and started on first use.
[[nodiscard]] std::unique_ptr<file_backend> make_thread_backend();

/// A ring of the scheduler's own; null, with an errno in `refusal`, where the system refuses it.
[[nodiscard]] std::unique_ptr<file_backend> make_uring_backend(event_loop_scheduler& home,
                                                               int& refusal);

}  // namespace leat::detail
