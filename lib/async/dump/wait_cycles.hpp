#pragma once

#include <vector>

#include "async/dump/internal/process_snapshot.hpp"

namespace LEAT::detail {

/// Returns the cycles among the tasks of these scopes, each once.
///
/// A task that joins waits for every task of the scope. A task that waits on a queue waits for any
/// of the tasks that have served such a wait before. A task that could resume without the cycle is
/// not part of it. `partial`: other scopes may exist, with tasks that are not stuck.
[[nodiscard]] std::vector<wait_cycle> find_cycles(const std::vector<scope_state>& scopes,
                                                  bool partial);

}  // namespace LEAT::detail
