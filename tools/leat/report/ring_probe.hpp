#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tool {

/// The result of a request for an io_uring.
struct ring_probe {
  int error = 0;                      ///< errno; 0: there is one
  std::vector<std::string> features;  ///< names of IORING_FEAT_*, in lower case
  unsigned operations = 0;            ///< how many kinds it carries out
  int switched_off = -1;              ///< sysctl kernel.io_uring_disabled; -1: not found
};

/// Creates and closes a small ring.
[[nodiscard]] ring_probe probe_ring();

/// Returns the name of the backend that leat chooses; leat::file_backend_reason() is the reason.
/// Errors: leat::failure for a value of LEAT_IO that is invalid or unavailable.
std::string backend_in_use();

}  // namespace tool
