#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "leat/pipeline/state/detail/stage_state.hpp"

namespace LEAT::detail {

/// Creates the empty state of a stage.
using state_maker = std::unique_ptr<stage_state> (*)();
template <class State>
[[nodiscard]] std::unique_ptr<stage_state> make_state() {
  return std::make_unique<State>();
}

/// A stage as it was declared, and its own bytes: what stage_state::write() returned. Only the
/// stage, which has this kind and version, knows what they mean.
struct saved_stage {
  std::string kind = {};  ///< "shuffle"
  std::string name = {};
  std::vector<setting> settings = {};
  std::uint64_t version = 1;  ///< of its own bytes
  std::string own = {};
  state_maker make = &make_state<stage_state>;  ///< of a declared stage
};

/// The state of a pipeline as bytes; the same bytes for the same state.
[[nodiscard]] std::string stages_to_bytes(const std::vector<saved_stage>& stages);

/// Returns the stages of a saved state.
///
/// Errors: data_loss if the bytes are corrupt; invalid_argument if stages_to_bytes() cannot have
///         written them; unimplemented for a state of another version. The message contains
///         `pipeline`, its name.
[[nodiscard]] std::vector<saved_stage> stages_from_bytes(std::string_view bytes,
                                                         std::string_view pipeline);

}  // namespace LEAT::detail
