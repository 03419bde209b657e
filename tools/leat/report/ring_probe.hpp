#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tool {

/// What the kernel says to a request for an io_uring.
struct ring_probe {
  int error = 0;                      ///< errno; 0: there is one
  std::vector<std::string> features;  ///< names of IORING_FEAT_*, in small letters
  unsigned operations = 0;            ///< how many kinds it carries out
  int switched_off = -1;              ///< sysctl kernel.io_uring_disabled; -1: there is none
};

/// Asks for a small ring and lets go of it.
[[nodiscard]] ring_probe probe_ring();

/// The name of the backend that leat chooses here; leat::file_backend_reason() says why.
/// Errors: leat::failure for a value of LEAT_IO that is none, or that the system refuses.
std::string backend_in_use();

}  // namespace tool
