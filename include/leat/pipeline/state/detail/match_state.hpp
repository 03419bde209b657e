#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "leat/pipeline/state/detail/saved_stage.hpp"

namespace LEAT::detail {

using stage_states = std::vector<std::unique_ptr<stage_state>>;

/// Returns the states of the declared stages from the one given state, with which a pipeline
/// resumes.
///
/// Errors: those of stages_from_bytes(); invalid_argument, naming the first difference, for the
///         state of a pipeline that was declared in another way, and for one that a stage cannot
///         have written; unimplemented for a stage of another version; failed_precondition for the
///         state of another rank if files were shared or a stage holds elements.
[[nodiscard]] stage_states match_own_state(const std::vector<std::string>& one,
                                           const std::vector<saved_stage>& declared,
                                           std::string_view pipeline);
/// Like match_own_state(), for the states of all ranks of a job with any number of them.
[[nodiscard]] stage_states reshard_states(const std::vector<std::string>& all,
                                          const std::vector<saved_stage>& declared,
                                          std::string_view pipeline);
using state_matcher = decltype(&match_own_state);

}  // namespace LEAT::detail
