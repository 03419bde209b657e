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

namespace leat {

/// A value of a summary that is carried along as it is: an image, a sound, a tensor, or what a
/// later version knows.
struct unparsed_value {
  std::uint32_t field = 0;         ///< its number in the message: 3 to 8 but for 5 and 7
  braced<std::string> bytes = {};  ///< of the message
  friend bool operator==(const unparsed_value&, const unparsed_value&) = default;
};

/// One named value of a summary.
struct summary_value {
  braced<std::string> tag = {};
  /// A scalar, a histogram, or something else.
  braced<std::variant<std::monostate, float, histogram_data, unparsed_value>> value = {};
  /// A serialized SummaryMetadata: which plugin shows it, and how. Empty: none.
  braced<std::string> metadata = {};
  friend bool operator==(const summary_value&, const summary_value&) = default;
};

/// How much a message may hold when it is read.
struct event_limits {
  std::size_t max_values = 100'000;  ///< of a summary; each takes 200 bytes of memory and more
};

/// Named values of one moment: TensorFlow's message Summary.
///
///     leat::summary s;
///     s.add_scalar("loss", 0.5);
///     s.add_histogram("weights", weights);
///
/// Thread safety: thread-compatible.
struct summary {
  braced<std::vector<summary_value>> values = {};

  /// The number as a float; NaN and infinity are allowed.
  summary& add_scalar(std::string tag, double value);
  summary& add_histogram(std::string tag, const histogram& values);
  /// With the default buckets. Errors: invalid_argument for a value that is no finite number.
  summary& add_histogram(std::string tag, std::span<const double> values);
  summary& add_histogram(std::string tag, std::span<const float> values);

  /// Errors: invalid_argument for a tag, or anything else that is a text, that is not UTF-8.
  [[nodiscard]] std::string to_bytes() const;
  /// Errors: data_loss, with the offset of the field that is corrupt; resource_exhausted for more
  ///         values than the limit.
  [[nodiscard]] static summary from_bytes(std::string_view bytes, const event_limits& limits = {});

  friend bool operator==(const summary&, const summary&) = default;
};

/// The values of all, in order. Errors: invalid_argument for a tag that comes twice, unless it is
/// empty. TensorFlow: tf.summary.merge.
[[nodiscard]] summary merge_summaries(std::span<const summary> parts);

/// What a file of events begins with: "brain.Event:2".
struct file_version {
  braced<std::string> text = "brain.Event:2";
  friend bool operator==(const file_version&, const file_version&) = default;
};

/// A serialized GraphDef.
struct serialized_graph {
  braced<std::string> bytes = {};
  friend bool operator==(const serialized_graph&, const serialized_graph&) = default;
};

/// A serialized MetaGraphDef.
struct serialized_meta_graph {
  braced<std::string> bytes = {};
  friend bool operator==(const serialized_meta_graph&, const serialized_meta_graph&) = default;
};

/// A line of a log.
struct log_message {
  enum level_type : std::int32_t {
    unknown = 0,
    debugging = 10,
    info = 20,
    warn = 30,
    error = 40,
    fatal = 50
  };
  level_type level = unknown;
  braced<std::string> message = {};
  friend bool operator==(const log_message&, const log_message&) = default;
};

/// What happened to a run: it began, ended, or stored a checkpoint.
struct session_log {
  enum status_type : std::int32_t { unspecified = 0, start = 1, stop = 2, checkpoint = 3 };
  status_type status = unspecified;
  braced<std::string> checkpoint_path = {};
  braced<std::string> message = {};
  friend bool operator==(const session_log&, const session_log&) = default;
};

/// A serialized RunMetadata and its name.
struct tagged_run_metadata {
  braced<std::string> tag = {};
  braced<std::string> bytes = {};
  friend bool operator==(const tagged_run_metadata&, const tagged_run_metadata&) = default;
};

/// A record of an event file, as TensorBoard reads it: TensorFlow's message Event (proto3).
///
/// The bytes are those of protobuf for the same message; fields it does not know are skipped.
/// Numbers that have no name among the enumerators are kept.
///
/// Thread safety: thread-compatible. TensorFlow: tensorflow/core/util/event.proto, summary.proto.
struct event_record {
  using content = std::variant<std::monostate, file_version, serialized_graph, summary, log_message,
                               session_log, tagged_run_metadata, serialized_meta_graph>;

  double wall_time = 0;   ///< seconds since 1970
  std::int64_t step = 0;  ///< of the training
  braced<content> what = {};

  /// Errors: invalid_argument for a text that is not UTF-8, which no reader would accept.
  [[nodiscard]] std::string to_bytes() const;
  /// Errors: data_loss, with the offset of the field that is corrupt; resource_exhausted for more
  ///         values than the limit. Cost: O(bytes).
  [[nodiscard]] static event_record from_bytes(std::string_view bytes,
                                               const event_limits& limits = {});

  friend bool operator==(const event_record&, const event_record&) = default;
};

}  // namespace leat
