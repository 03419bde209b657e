#pragma once

#include <memory>
#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/io/file/match_files.hpp"

namespace LEAT {

/// The paths that match some patterns, looked up once, in the first call.
///
///     leat::match_filenames_once files("data/*.tfrecord");
///     leat::string_input_producer names(files, {.num_epochs = 2});  // looks them up, in time
///
/// It needs no initialization. Later changes in the directories have no effect. If a look-up fails
/// or is cancelled, the next call tries again.
///
/// A value type; copies share the paths that were found.
///
/// Thread safety: thread-safe; calls during a look-up wait for its end.
/// TensorFlow:    tf.train.match_filenames_once.
class match_filenames_once {
 public:
  explicit match_filenames_once(std::string pattern, match_options options = {});
  explicit match_filenames_once(std::vector<std::string> patterns, match_options options = {});

  /// Returns the paths in sorted order. The list may be empty.
  ///
  /// Errors:       the errors of match_files().
  /// Cancellation: total.
  [[nodiscard]] task<std::vector<std::string>> operator()() const;

 private:
  struct state;
  static task<std::vector<std::string>> look_up(std::shared_ptr<state> s);

  std::shared_ptr<state> state_;
};

}  // namespace LEAT
