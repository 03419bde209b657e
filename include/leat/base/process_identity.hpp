#pragma once

#include <string>

#include "leat/base/flavour.hpp"

namespace LEAT {

/// The identity of a process among all processes that may write to the same directory.
struct process_identity {
  std::string host;    ///< the name of the machine
  int process_id = 0;  ///< the ID of the process on that machine
};

}  // namespace LEAT
