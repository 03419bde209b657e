#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
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

namespace leat {

class session_manager;

/// A line on standard error: "leat: SENTENCE".
void print_warning(const std::string& sentence);

/// What a supervisor looks after, and how.
struct supervisor_options {
  braced<std::string> name = "supervisor";  ///< for messages and dumps
  /// Of a job there is one chief, who makes the state, saves it and writes events. Others wait
  /// until it is ready, and write nothing.
  bool is_chief = true;
  /// Of checkpoints and events. A worker reads there what the chief has saved. Empty: none.
  braced<std::string> logdir = {};

  /// What is saved and restored; none: nothing is. It must outlive the supervisor.
  const checkpoint_registry* state = nullptr;
  /// Its warnings, such as those of skipped checkpoints, are passed to on_warning as well.
  saver_options saver = {};
  /// How the state comes about where there is no checkpoint; without init and init_fn it is as it
  /// was registered.
  session_manager_options sessions = {};
  /// Your own session manager instead of one made from `sessions`, which is then ignored; its class
  /// is in leat/tensorflow.hpp.
  braced<std::shared_ptr<session_manager>> manager = {};

  /// The number of the step that was done last. None: that of the registry, if there is an entry
  /// global_step of a signed or unsigned integer of 4 or 8 bytes; else steps are unknown.
  braced<std::function<std::int64_t()>> global_step = {};
  braced<std::string> global_step_name =
      "global_step";  ///< of the entry, and in the tag of steps a second

  /// What is written of each step that has come when it is asked; none: there is no such service.
  braced<std::function<summary()>> summaries = {};
  /// Of which it is written how full they are; see add_fullness(). They must outlive the
  /// supervisor.
  braced<std::vector<const queue_base*>> queues = {};
  /// Of which it is written how much goes through them and how they wait; see stage_rates. Those of
  /// a pipeline are its stages(). They must outlive the supervisor.
  braced<std::vector<const stage_metrics*>> stages = {};
  time_span save_summaries_interval = std::chrono::seconds(120);  ///< between two; 0: never
  time_span save_model_interval = std::chrono::seconds(600);  ///< between two checkpoints; 0: never
  /// One more checkpoint when all has ended well, so that no step is done twice; also where
  /// save_model_interval is 0. TensorFlow: none.
  bool save_at_end = true;
  /// Awaited before that: all tasks have ended, all went well, and the state can still be saved. No
  /// stop reaches it; what it throws leaves.
  braced<std::function<task<void>()>> at_end = {};

  /// Awaited after each checkpoint is saved, with its path and its step (empty: steps are unknown):
  /// for a copy to another machine, for example. Later saves may run meanwhile and delete the file
  /// once max_to_keep newer ones exist. An exception leaves the save() or, from a save by the
  /// clock, stops the supervisor; the checkpoint remains saved.
  braced<std::function<task<void>(std::string path, std::optional<std::int64_t>)>> on_saved = {};

  event_writer_options events = {};
  bool write_events = true;              ///< false: no events, in spite of the directory
  braced<std::string> summary_dir = {};  ///< of events; empty: logdir
  /// Used instead of a writer in the directory; must outlive the supervisor.
  event_writer* writer = nullptr;
  braced<std::string> graph_def = {};  ///< serialized, as the first event; empty: none
  braced<std::string> meta_graph_def = {};

  /// The default of start_queue_runners(); must outlive the supervisor.
  const queue_runner_collection* runners = nullptr;
  /// For the current step to finish after a stop request. Afterwards the body is cancelled, and the
  /// interrupted step is neither counted nor saved.
  time_span step_grace = std::chrono::seconds(10);
  time_span stop_grace = std::chrono::seconds(120);  ///< for services and tasks to end
  braced<std::vector<errc>> clean_stop_errors = {errc::out_of_range};
  /// An error of the body, or of a hook, after a clean stop leaves managed() as well; nothing is
  /// saved then, as ever behind an error. False: on_warning is told of it, and it is a secondary
  /// one.
  bool throw_after_clean_stop = false;
  /// Called for a problem that is not a failure: a skipped checkpoint, a service that cannot be
  /// started, an error after a clean stop. Default: prints a line on standard error. If empty, no
  /// function is called.
  braced<std::function<void(const std::string& sentence)>> on_warning = print_warning;
};

}  // namespace leat
