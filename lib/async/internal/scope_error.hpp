#pragma once

#include <exception>
#include <string_view>

#include "base/internal/standard_error.hpp"

namespace LEAT::detail {

/// Prints an error of a task scope, as "leat: KIND 'NAME': WHAT: MESSAGE".
inline void print_scope_error(const char* kind, std::string_view name, const char* what,
                              const std::exception_ptr& error) noexcept {
  print_stderr("leat: %s%s%.*s%s: %s: ", kind, name.empty() ? "" : " '",
               static_cast<int>(name.size()), name.data(), name.empty() ? "" : "'", what);
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    print_stderr("%s\n", e.what());
  } catch (...) {
    write_stderr("exception of an unknown type\n");
  }
}

}  // namespace LEAT::detail
