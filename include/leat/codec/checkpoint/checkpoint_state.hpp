#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leat/base/braced.hpp"

namespace LEAT {

/// The contents of the state file of a directory: a list of its checkpoints.
///
/// The file is TensorFlow's message CheckpointState in protobuf's text format. TensorFlow's tools
/// can read it, and you can edit it to choose another checkpoint.
struct checkpoint_state {
  option_string model_checkpoint_path = {};  ///< the path of the checkpoint to restore
  option_list<std::string> all_model_checkpoint_paths = {};  ///< oldest first
  /// The times of the paths, in seconds since 1970, in the same order; may be empty.
  option_list<double> all_model_checkpoint_timestamps = {};
  /// The time at which the last permanently kept checkpoint was saved.
  std::optional<double> last_preserved_timestamp = {};

  /// Returns the state as text, with one field per line.
  [[nodiscard]] std::string to_text() const;

  /// Parses a state in protobuf's text format: comments, both kinds of quotes, escapes, strings in
  /// several parts, and lists in brackets. If a field that is not a list occurs more than once, the
  /// last occurrence counts.
  ///
  /// Errors: invalid_argument, with the line number, for any other text.
  [[nodiscard]] static checkpoint_state from_text(std::string_view text);

  friend bool operator==(const checkpoint_state&, const checkpoint_state&) = default;
};

}  // namespace LEAT
