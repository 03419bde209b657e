#pragma once

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// Prints the exception that is unwinding this thread's stack to standard error, if there is one:
/// a destructor that ends the process would otherwise hide the error that caused it.
/// Allocates nothing.
void print_exception_in_flight() noexcept;

}  // namespace LEAT::detail
