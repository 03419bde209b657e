#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leat/base/braced.hpp"

namespace leat {

/// Which checkpoints of a directory there are: the contents of its state file.
///
/// The message CheckpointState of TensorFlow in protobuf's text format, so that its tools read it,
/// and people can edit it to choose another checkpoint.
struct checkpoint_state {
  braced<std::string> model_checkpoint_path = {};                    ///< the one to restore
  braced<std::vector<std::string>> all_model_checkpoint_paths = {};  ///< oldest first
  /// Seconds since 1970, of each path; or empty.
  braced<std::vector<double>> all_model_checkpoint_timestamps = {};
  /// When the last checkpoint was saved that is kept for ever.
  std::optional<double> last_preserved_timestamp = {};

  /// The state as text, a field in each line.
  [[nodiscard]] std::string to_text() const;

  /// The state in a text as protobuf's text format has it: comments, both kinds of quotes, escapes,
  /// strings in several parts, lists in brackets. Of a field that may be there once, the last one
  /// counts.
  ///
  /// Errors: invalid_argument, with the line, for any other text.
  [[nodiscard]] static checkpoint_state from_text(std::string_view text);

  friend bool operator==(const checkpoint_state&, const checkpoint_state&) = default;
};

}  // namespace leat
