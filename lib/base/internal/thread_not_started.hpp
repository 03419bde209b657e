#pragma once

#include <string>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// The message for a thread that the system refused to start; `thread` says which one.
[[nodiscard]] inline std::string thread_not_started(const std::string& thread) {
  return thread +
         " cannot be started: raise the limit on threads (ulimit -u, or pids.max of the cgroup), "
         "or start fewer threads";
}

}  // namespace LEAT::detail
