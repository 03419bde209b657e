#pragma once

#include <memory>
#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/io/file/match_files.hpp"

namespace leat {

/// The paths that match some patterns, looked up once: when they are asked for first.
///
///     leat::match_filenames_once files("data/*.tfrecord");
///     leat::string_input_producer names(files, {.num_epochs = 2});  // looks them up, in time
///
/// Nothing has to be initialised before it, and what comes and goes in the directories afterwards
/// is not seen. A look-up that fails, or is cancelled, does not count: the next call tries again.
///
/// A value; copies share what was found. Thread safety: thread-safe: who comes while another one
/// looks them up waits for it.
/// TensorFlow: tf.train.match_filenames_once.
class match_filenames_once {
 public:
  explicit match_filenames_once(std::string pattern, match_options options = {});
  explicit match_filenames_once(std::vector<std::string> patterns, match_options options = {});

  /// The paths, sorted; maybe none.
  ///
  /// Errors:       those of match_files().
  /// Cancellation: total.
  [[nodiscard]] task<std::vector<std::string>> operator()() const;

 private:
  struct state;
  static task<std::vector<std::string>> look_up(std::shared_ptr<state> s);

  std::shared_ptr<state> state_;
};

}  // namespace leat
