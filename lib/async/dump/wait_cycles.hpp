#pragma once

#include <vector>

#include "async/dump/process_snapshot.hpp"

namespace leat::detail {

/// The cycles among the tasks of these scopes, each once.
///
/// A task that joins waits for every task of the scope; one that waits on a queue for any of those
/// that were seen to serve its kind of wait. Nobody is in a cycle who could go on without it.
/// `partial`: there may be other scopes, and in them tasks that are not stuck.
[[nodiscard]] std::vector<wait_cycle> find_cycles(const std::vector<scope_state>& scopes,
                                                  bool partial);

}  // namespace leat::detail
