#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leat/base/error.hpp"

namespace leat {

/// A queue_runner in names: what can be stored, sent, and made a runner of elsewhere.
///
/// Its bytes are those of TensorFlow's message QueueRunnerDef (proto3): a definition that was
/// written there is read here, and the other way round. Fields it does not know are skipped.
///
/// Thread safety: thread-compatible. TensorFlow: tensorflow/core/protobuf/queue_runner.proto.
struct queue_runner_def {
  std::string queue_name = {};                     ///< field 1
  std::vector<std::string> enqueue_op_names = {};  ///< field 2
  std::string close_op_name = {};                  ///< field 3; empty: the default
  std::string cancel_op_name = {};                 ///< field 4; empty: the default
  /// Field 5, the codes of errors that mean the end of input; empty: the default, out_of_range.
  /// A number without a meaning is kept as it is; no runner can be made of it.
  std::vector<errc> queue_closed_errors = {};

  friend bool operator==(const queue_runner_def&, const queue_runner_def&) = default;

  /// The definition in protobuf's wire format; the same bytes for the same definition.
  /// Errors: invalid_argument for a name that is not UTF-8, which no reader would accept.
  [[nodiscard]] std::string to_bytes() const;

  /// The definition in `bytes`. Accepts what protobuf accepts, and no more. Without field 5, as in
  /// old files, queue_closed_errors is the default, out_of_range.
  /// Errors: data_loss, with the offset of the field that is corrupt. Cost: O(bytes).
  [[nodiscard]] static queue_runner_def from_bytes(std::string_view bytes);

  /// The definition as seen from within `scope`: "a/q" is "q" in scope "a". Names of operations
  /// that are elsewhere stay. Nothing when the queue is not in that scope.
  /// TensorFlow: to_proto(export_scope).
  [[nodiscard]] std::optional<queue_runner_def> without_scope(std::string_view scope) const;

  /// The definition as seen from outside: each name with `scope` in front of it.
  /// TensorFlow: from_proto(import_scope).
  [[nodiscard]] queue_runner_def with_scope(std::string_view scope) const;
};

}  // namespace leat
