#pragma once

#include <iosfwd>
#include <string_view>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

// Standard error belongs to the process, and often to other processes too, any of which may have
// made it nonblocking. The functions of <cstdio> and std::cerr then lose text when a pipe is full.
// These functions wait instead, as they do for a blocking descriptor.

/// Writes `text` to standard error. Allocates no memory. Errors are ignored.
void write_stderr(std::string_view text) noexcept;

/// Like std::fprintf(stderr, ...). Cuts a text of more than 1 KiB if there is no memory for it.
[[gnu::format(printf, 1, 2)]] void print_stderr(const char* format, ...) noexcept;

/// Returns true if text that is written to `out` goes to standard error without a buffer, as that
/// of std::cerr does by default.
[[nodiscard]] bool is_stderr(std::ostream& out) noexcept;

}  // namespace LEAT::detail
