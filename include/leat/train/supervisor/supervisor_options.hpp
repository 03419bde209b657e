#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/error.hpp"
#include "leat/codec/event/event.hpp"
#include "leat/coordination/queue_runner_collection.hpp"
#include "leat/pipeline/metrics/stage_metrics.hpp"
#include "leat/queue/queue_base.hpp"
#include "leat/train/checkpoint/checkpoint_registry.hpp"
#include "leat/train/checkpoint/saver_options.hpp"
#include "leat/train/summary/event_writer.hpp"
#include "leat/train/supervisor/session_manager_options.hpp"

namespace LEAT {

/// Prints the line "leat: SENTENCE" to standard error.
void print_warning(const std::string& sentence);

/// Options of a supervisor: the state to save and restore, the services to run, and when to stop.
struct supervisor_options {
  option_string name = "supervisor";  ///< for messages and dumps
  /// Whether this process is the chief. A job has one chief, which creates the state, saves it and
  /// writes events. The other processes wait until the state is ready and write nothing.
  bool is_chief = true;
  /// The directory of checkpoints and events, from which a worker reads the checkpoints of the
  /// chief. If empty, there is no directory.
  option_string logdir = {};

  /// The entries that are saved and restored. If null, nothing is. It must outlive the supervisor.
  const checkpoint_registry* state = nullptr;
  /// Options of the saver. Its warnings, such as those about skipped checkpoints, also go to
  /// on_warning.
  saver_options saver = {};
  /// The functions that create the state if there is no checkpoint. If neither init nor init_fn is
  /// set, the registered values are kept.
  session_manager_options sessions = {};

  /// Returns the number of the last completed step. If not set, the supervisor reads the entry of
  /// `state` whose name is global_step_name, a signed or unsigned integer of 4 or 8 bytes. Without
  /// such an entry, steps are unknown.
  option_function<std::int64_t()> global_step = {};
  option_string global_step_name =
      "global_step";  ///< the name of the entry, also used in the tag of steps per second

  /// Returns the summary that is written for the current step, each save_summaries_interval. If not
  /// set, there is no such service.
  option_function<summary()> summaries = {};
  /// Queues whose fill levels are written; see add_fullness(). They must outlive the supervisor.
  option_list<const queue_base*> queues = {};
  /// Pipeline stages whose throughput and waiting times are written; see stage_rates. A pipeline
  /// returns its stages from stages(). They must outlive the supervisor.
  option_list<const stage_metrics*> stages = {};
  time_span save_summaries_interval = std::chrono::seconds(120);  ///< 0: never
  time_span save_model_interval = std::chrono::seconds(600);      ///< 0: never
  /// Whether to save a last checkpoint after a run without an error, so that no step is repeated.
  /// Applies even if save_model_interval is 0. TensorFlow saves no last checkpoint.
  bool save_at_end = true;
  /// Awaited before the last checkpoint, after all tasks have finished without an error, while the
  /// state can still be saved. A stop does not cancel it. Its exception leaves stop() and
  /// managed().
  option_function<task<void>()> at_end = {};

  /// Awaited after each save with the path and the step of the checkpoint, for example to copy the
  /// file to another machine. The step is empty if steps are unknown. Later saves may run during
  /// the call and delete the file once max_to_keep newer ones exist. An exception leaves save() or,
  /// from a periodic save, stops the supervisor; the checkpoint remains saved.
  option_function<task<void>(std::string path, std::optional<std::int64_t>)> on_saved = {};

  event_writer_options events = {};  ///< of the writer of events
  bool write_events = true;          ///< whether to write events to the directory
  option_string summary_dir = {};    ///< the directory of events; if empty, logdir
  /// The writer to use instead of one in the directory. It must outlive the supervisor.
  event_writer* writer = nullptr;
  option_string graph_def = {};  ///< serialized; the first event; if empty, not written
  /// Serialized MetaGraphDef, written at the start of the events; if empty, not written.
  option_string meta_graph_def = {};

  /// The collection that start_queue_runners() starts by default. It must outlive the supervisor.
  const queue_runner_collection* runners = nullptr;
  /// How long the current step may take to finish after a stop request. After this time, the body
  /// is cancelled, and the interrupted step is neither counted nor saved.
  time_span step_grace = std::chrono::seconds(10);
  /// How long services and other tasks may take to finish after a stop request.
  time_span stop_grace = std::chrono::seconds(120);
  /// Errors that mean an orderly end; see coordinator_options::clean_stop_errors.
  option_list<errc> clean_stop_errors = {errc::out_of_range};
  /// Whether managed() throws an error of the body, or of a hook, that occurs after a clean stop.
  /// If false, the error becomes a secondary error, and on_warning is called. In both cases nothing
  /// is saved, as after any error.
  bool throw_after_clean_stop = false;
  /// Called for a problem that is not a failure: a skipped checkpoint, a service that cannot be
  /// started, an error after a clean stop. Default: prints a line on standard error. If empty, no
  /// function is called.
  option_function<void(const std::string& sentence)> on_warning = print_warning;
};

}  // namespace LEAT
