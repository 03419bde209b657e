#pragma once

#include <cstddef>
#include <cstdint>

#include "leat/base/flavour.hpp"

namespace LEAT {

/// The counters of a listener: see listener::statistics().
struct listener_statistics {
  std::uint64_t accepted = 0;  ///< total number of accepted connections
  std::uint64_t failed = 0;    ///< connections that failed before they were accepted
  std::size_t backlog = 0;     ///< connections that wait in the kernel; 0 for a Unix socket
  bool exhausted = false;      ///< out of descriptors or memory, so that clients wait
};

}  // namespace LEAT
