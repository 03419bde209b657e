#pragma once

#include <cstdio>
#include <exception>
#include <string_view>

namespace leat::detail {

/// Prints an error of a task scope, as "leat: KIND 'NAME': WHAT: MESSAGE".
inline void print_scope_error(const char* kind, std::string_view name, const char* what,
                              const std::exception_ptr& error) noexcept {
  std::fprintf(stderr, "leat: %s%s%.*s%s: %s: ", kind, name.empty() ? "" : " '",
               static_cast<int>(name.size()), name.data(), name.empty() ? "" : "'", what);
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
  } catch (...) {
    std::fputs("exception of an unknown type\n", stderr);
  }
}

}  // namespace leat::detail
