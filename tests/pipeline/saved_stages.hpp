#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "leat/pipeline/source/detail/files_state.hpp"
#include "leat/pipeline/stage/detail/applying_stage.hpp"
#include "leat/pipeline/stage/detail/batch_stage.hpp"
#include "leat/pipeline/stage/detail/shuffle_stage.hpp"
#include "leat/pipeline/state/detail/saved_stage.hpp"

namespace leat_test {

using saved_stages = std::vector<leat::detail::saved_stage>;
using stages_change = std::function<void(saved_stages&)>;

/// Returns the stages of a saved state.
inline saved_stages stages_of(const std::string& state) {
  return leat::detail::stages_from_bytes(state, "test");
}

/// Returns the state of a stage in the stage's own form.
template <class State>
State state_in(const leat::detail::saved_stage& s) {
  State own;
  own.read(s.own, s.settings);
  return own;
}

/// Returns a function that changes the state of the i-th stage.
template <class State, class Change>
stages_change change_in(std::size_t i, Change change) {
  return [i, change](saved_stages& all) {
    State own = state_in<State>(all[i]);
    change(own);
    all[i].own = own.write();
  };
}
template <class Change>
stages_change change_files(Change change) {
  return change_in<leat::detail::file_stage_state>(0, [change](auto& s) { change(s.at); });
}
template <class Change>
stages_change change_buffer(std::size_t i, Change change) {
  return change_in<leat::detail::shuffle_state>(i, change);
}
template <class Change>
stages_change change_begun(std::size_t i, Change change) {
  return change_in<leat::detail::flat_map_state>(i, [change](auto& s) { change(s.begun); });
}
template <class Change>
stages_change change_batches(std::size_t i, Change change) {
  return change_in<leat::detail::batch_state>(i, [change](auto& s) { change(s.batches); });
}

}  // namespace leat_test
