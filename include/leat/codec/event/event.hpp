#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "leat/base/braced.hpp"
#include "leat/codec/event/histogram.hpp"

namespace LEAT {

/// A value of a summary that is kept as its serialized bytes: an image, a sound, a tensor, or a
/// histogram in TensorFlow's old format.
struct unparsed_value {
  std::uint32_t field = 0;   ///< its field number in the message: 3, 4, 6 or 8
  option_string bytes = {};  ///< the serialized message
  friend bool operator==(const unparsed_value&, const unparsed_value&) = default;
};

/// A named value of a summary.
struct summary_value {
  /// The name of the value, unique in its summary unless it is empty.
  option_string tag = {};
  /// A scalar, a histogram, an unparsed value, or none of them.
  braced<std::variant<std::monostate, float, histogram_data, unparsed_value>> value = {};
  /// A serialized SummaryMetadata, which describes the plugin that displays the value. May be
  /// empty.
  option_string metadata = {};
  friend bool operator==(const summary_value&, const summary_value&) = default;
};

/// Limits on the contents of a message that is read.
struct event_limits {
  std::size_t max_values = 100'000;  ///< of a summary; each uses at least 200 bytes of memory
};

/// Named values of one point in time: TensorFlow's message Summary.
///
///     leat::summary s;
///     s.add_scalar("loss", 0.5);
///     s.add_histogram("weights", weights);
///
/// Thread safety: thread-compatible.
struct summary {
  /// The values, in the order in which they are written.
  option_list<summary_value> values = {};

  /// Adds a number as a float. NaN and infinity are allowed.
  summary& add_scalar(std::string tag, double value);
  /// Adds a histogram in its stored form; see histogram::encode().
  summary& add_histogram(std::string tag, const histogram& values);
  /// Adds a histogram of `values` with the default limits.
  ///
  /// Errors: invalid_argument, if a value is NaN or infinite.
  summary& add_histogram(std::string tag, std::span<const double> values);
  summary& add_histogram(std::string tag, std::span<const float> values);

  /// Serializes the summary.
  ///
  /// Errors: invalid_argument, if a tag or another text is not UTF-8, or if the field of an
  ///         unparsed_value is not 3, 4, 6 or 8.
  [[nodiscard]] std::string to_bytes() const;
  /// Parses a serialized summary.
  ///
  /// Errors: data_loss, with the offset of the corrupt field; resource_exhausted, if there are more
  ///         values than the limit.
  [[nodiscard]] static summary from_bytes(std::string_view bytes, const event_limits& limits = {});

  friend bool operator==(const summary&, const summary&) = default;
};

/// Returns a summary with the values of all `parts`, in order.
///
/// Errors: invalid_argument, if a tag that is not empty occurs twice.
/// TensorFlow: tf.summary.merge.
[[nodiscard]] summary merge_summaries(std::span<const summary> parts);

/// The first record of an event file: "brain.Event:2".
struct file_version {
  /// The version of the format, "brain.Event:" followed by a number.
  option_string text = "brain.Event:2";
  friend bool operator==(const file_version&, const file_version&) = default;
};

/// A serialized GraphDef.
struct serialized_graph {
  /// The serialized message.
  option_string bytes = {};
  friend bool operator==(const serialized_graph&, const serialized_graph&) = default;
};

/// A serialized MetaGraphDef.
struct serialized_meta_graph {
  /// The serialized message.
  option_string bytes = {};
  friend bool operator==(const serialized_meta_graph&, const serialized_meta_graph&) = default;
};

/// A log message.
struct log_message {
  /// The severity of a message, with the numbers of TensorFlow.
  enum level_type : std::int32_t {
    unknown = 0,
    debugging = 10,
    info = 20,
    warn = 30,
    error = 40,
    fatal = 50
  };
  /// The severity of the message.
  level_type level = unknown;
  /// The text of the message.
  option_string message = {};
  friend bool operator==(const log_message&, const log_message&) = default;
};

/// An event of a run: it started, stopped, or saved a checkpoint.
struct session_log {
  /// The kind of an event, with the numbers of TensorFlow.
  enum status_type : std::int32_t { unspecified = 0, start = 1, stop = 2, checkpoint = 3 };
  /// The kind of the event.
  status_type status = unspecified;
  /// The path of the checkpoint, for `checkpoint`.
  option_string checkpoint_path = {};
  /// A message that describes the event. May be empty.
  option_string message = {};
  friend bool operator==(const session_log&, const session_log&) = default;
};

/// A serialized RunMetadata with its name.
struct tagged_run_metadata {
  /// The name of the metadata.
  option_string tag = {};
  /// The serialized message.
  option_string bytes = {};
  friend bool operator==(const tagged_run_metadata&, const tagged_run_metadata&) = default;
};

/// A record of an event file, as TensorBoard reads it: TensorFlow's message Event (proto3).
///
/// The bytes are those that protobuf writes for the same message. Unknown fields are skipped. A
/// number without an enumerator is kept.
///
/// Thread safety: thread-compatible.
/// TensorFlow: tensorflow/core/util/event.proto, summary.proto.
struct event_record {
  /// The content of a record: one of the messages that an event file can contain, or none.
  using content = std::variant<std::monostate, file_version, serialized_graph, summary, log_message,
                               session_log, tagged_run_metadata, serialized_meta_graph>;

  double wall_time = 0;   ///< seconds since 1970
  std::int64_t step = 0;  ///< the training step
  /// The content of the record.
  braced<content> what = {};

  /// Serializes the record.
  ///
  /// Errors: invalid_argument, if a text is not UTF-8, because no reader would accept it, or if the
  ///         field of an unparsed_value is not 3, 4, 6 or 8.
  [[nodiscard]] std::string to_bytes() const;
  /// Parses a serialized record.
  ///
  /// Errors: data_loss, with the offset of the corrupt field; resource_exhausted, if there are more
  ///         values than the limit.
  /// Cost:   O(bytes).
  [[nodiscard]] static event_record from_bytes(std::string_view bytes,
                                               const event_limits& limits = {});

  friend bool operator==(const event_record&, const event_record&) = default;
};

}  // namespace LEAT
