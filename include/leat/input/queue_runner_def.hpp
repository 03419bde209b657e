#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leat/base/error.hpp"
#include "leat/coordination/queue_runner.hpp"
#include "leat/input/queue_runner_resolver.hpp"

namespace LEAT {

/// The definition of a queue_runner by names. It can be stored, sent, and turned into a runner
/// elsewhere.
///
/// The encoded bytes are TensorFlow's message QueueRunnerDef (proto3): leat reads the definitions
/// that TensorFlow writes, and TensorFlow reads those that leat writes. Unknown fields are skipped.
///
/// Thread safety: thread-compatible.
/// TensorFlow: tensorflow/core/protobuf/queue_runner.proto.
struct queue_runner_def {
  std::string queue_name = {};                     ///< field 1
  std::vector<std::string> enqueue_op_names = {};  ///< field 2
  std::string close_op_name = {};                  ///< field 3; if empty, the default is used
  std::string cancel_op_name = {};                 ///< field 4; if empty, the default is used
  /// Field 5, the codes of errors that mean the end of input. If empty, the default is used,
  /// out_of_range. A number that is not an error code is kept, but no runner can be created with
  /// it.
  std::vector<errc> queue_closed_errors = {};

  friend bool operator==(const queue_runner_def&, const queue_runner_def&) = default;

  /// Returns the definition of a runner: the names of its queue and its operations, and its closed
  /// errors.
  /// TensorFlow: QueueRunner.to_proto.
  [[nodiscard]] static queue_runner_def of(const queue_runner& runner);

  /// Returns the definition in protobuf's wire format. Equal definitions have equal bytes.
  /// Errors: invalid_argument if a name is not UTF-8, because no reader would accept it.
  [[nodiscard]] std::string to_bytes() const;

  /// Returns the definition that is encoded in `bytes`. Accepts exactly the bytes that protobuf
  /// accepts. If field 5 is absent, as in old files, queue_closed_errors is the default,
  /// out_of_range.
  /// Errors: data_loss, with the offset of the field that is corrupt.
  /// Cost: O(bytes).
  [[nodiscard]] static queue_runner_def from_bytes(std::string_view bytes);

  /// Returns the definition as seen from within `scope`, or an empty optional if the queue is not
  /// in that scope. For example, "a/q" becomes "q" in scope "a". Names of operations outside the
  /// scope do not change.
  /// TensorFlow: to_proto(export_scope).
  [[nodiscard]] std::optional<queue_runner_def> without_scope(std::string_view scope) const;

  /// Returns the definition as seen from outside: each name is prefixed with `scope`.
  /// TensorFlow: from_proto(import_scope).
  [[nodiscard]] queue_runner_def with_scope(std::string_view scope) const;
};

/// Creates the runner that `def` describes; `names` resolves the names in it. If the definition has
/// no closed errors, the list is {out_of_range}. Without a close_op or cancel_op, the defaults of
/// queue_runner_options apply.
///
/// Errors: invalid_argument if `def` has no queue, no enqueue operation, or a closed error that is
///         not an error; not_found if a name is not in `names`.
/// TensorFlow: QueueRunner.from_proto.
[[nodiscard]] std::unique_ptr<queue_runner> make_queue_runner(const queue_runner_def& def,
                                                              const queue_runner_resolver& names);

}  // namespace LEAT
