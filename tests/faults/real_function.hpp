#pragma once

#include <dlfcn.h>

/// The function that a library which is loaded before the program stands in the way of: the
/// next one behind that library, so each has this for itself.
template <class Function>
static Function* real(const char* name) noexcept {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}
