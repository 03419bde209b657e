#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <stop_token>

#include "leat/core/task_scope.hpp"
#include "leat/sync/fifo_queue.hpp"
#include "leat/train/directory_lock.hpp"
#include "leat/train/event_writer.hpp"
#include "leat/train/pipeline_summary.hpp"
#include "leat/train/saver.hpp"
#include "leat/train/step_rate.hpp"
#include "leat/train/supervisor.hpp"
#include "train/skipped_checkpoints.hpp"

namespace leat {

// What a supervisor has from prepare_or_wait_for_session() to stop().
struct supervisor::parts {
  parts() {
    static_cast<void>(save_turn.try_push(0));
    static_cast<void>(stop_turn.try_push(0));
  }

  [[nodiscard]] bool writer_is_open() const noexcept { return writer && !writer_closed; }

  std::optional<directory_lock> lock;
  std::optional<class saver> saver;
  std::optional<event_writer> own_writer;
  event_writer* writer = nullptr;
  bool writer_closed = true;
  bool graph_written = false;

  bool prepared = false;
  bool is_ready = false;               // the state has its values
  bool has_started = false;            // it was ready once since it was prepared
  std::atomic<bool> stopping = false;  // by the body, which goes on behind it
  const task_scope* body = nullptr;    // whose task the body is
  const task_scope* end = nullptr;     // whose task the stop is
  bool broken = false;                 // a step was begun and not done: there is nothing to save
  std::size_t steps = 0;               // under way
  bool save_waits = false;
  bool told_broken = false;
  fifo_queue<int> step_ended{1, "end of a step"};
  fifo_queue<int> snapshot_taken{1, "end of a snapshot"};
  fifo_queue<int> save_turn{1, "turn to save"};
  fifo_queue<int> stop_turn{1, "turn to stop"};
  std::optional<std::int64_t> saved_step;  // of the checkpoint that the state file names
  bool stop_wanted = false;      // request_stop_after_step() was called and the run has not ended
  bool was_stopped = false;      // the last body was stopped, and did not finish by itself
  bool saves_began = false;      // those by the clock
  bool has_saved = false;        // since it was prepared
  bool restored_partly = false;  // the state differs from the checkpoint
  std::stop_source starting{std::nostopstate};  // ends the waits of the start
  std::exception_ptr flush_error;               // of the events, before the save under way
  std::optional<step_rate> rate;
  std::optional<stage_rates> input;
  detail::skipped_checkpoints skipped;  // by the restore under way
};

}  // namespace leat
