#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "leat/pipeline/state/detail/stage_state.hpp"

namespace leat::detail {

/// Returns the stages of the one given state, with which a pipeline resumes.
///
/// Errors: those of stages_from_bytes(); invalid_argument, naming the first difference, for the
///         state of a pipeline that was declared in another way, and for one with members that a
///         stage of its kind never has; failed_precondition for the state of another rank if files
///         were shared or a stage holds elements.
[[nodiscard]] std::vector<stage_state> match_own_state(const std::vector<std::string>& one,
                                                       const std::vector<stage_state>& declared,
                                                       std::string_view pipeline);
/// Like match_own_state(), for the states of all ranks of a job with any number of them.
[[nodiscard]] std::vector<stage_state> reshard_states(const std::vector<std::string>& all,
                                                      const std::vector<stage_state>& declared,
                                                      std::string_view pipeline);
using state_matcher = decltype(&match_own_state);

}  // namespace leat::detail
