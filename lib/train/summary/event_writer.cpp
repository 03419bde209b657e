#include "leat/train/summary/event_writer.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "leat/async/select.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/base/internal/thread_mutex.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/sync/oneshot.hpp"
#include "train/summary/event_file.hpp"

namespace LEAT {
namespace {

// The answer to a flush: an error, or null.
using flush_reply = oneshot<std::exception_ptr>;

// A queued event, or a request to flush.
struct queued_event {
  std::string bytes = {};
  std::optional<event_record> with_metadata = {};   // instead of the bytes
  std::optional<flush_reply::sender> flushed = {};  // instead of an event
  bool durable = false;
  std::string run_tag = {};        // of run metadata; must be unique
  std::size_t values_checked = 0;  // values whose metadata was checked
  bool is_retry = false;           // an earlier attempt was out of memory
};

double to_seconds(wall_time_point t) {
  return std::chrono::duration<double>(t.time_since_epoch()).count();
}

bool has_metadata(const event_record& e) {
  const auto* const s = std::get_if<summary>(&e.what);
  if (!s) return false;
  for (const summary_value& v : s->values) {
    if (!v.metadata.empty()) return true;
  }
  return false;
}

void check(const event_writer_options& o, const std::string& directory) {
  const auto refuse = [&](const std::string& what) {
    throw failure(errc::invalid_argument, directory + ": event_writer_options::" + what);
  };
  if (directory.empty()) {
    throw failure(
        errc::invalid_argument,
        "event_writer: path of the directory is empty: use \".\" for the current directory");
  }
  if (o.max_queue == 0) refuse("max_queue is 0: set at least 1");
  if (o.flush_interval < duration::zero()) refuse("flush_interval is negative: set 0 or more");
  if (o.suffix.find('/') != std::string::npos) refuse("suffix '" + o.suffix + "' contains a '/'");
  if (o.host.find('/') != std::string::npos) refuse("host '" + o.host + "' contains a '/'");
}

detail::event_file_names make_file_names(std::string directory, const event_writer_options& o,
                                         const scheduler& sched) {
  process_identity who = sched.identity();
  if (!o.host.empty()) who.host = o.host;
  return {std::move(directory), std::move(who.host), o.process.value_or(who.process_id), o.suffix};
}

}  // namespace

// An add serializes its event in the caller's task and pushes it to the queue. One task, run(),
// removes the events in order. It runs on the scheduler of open() and is the only user of `file_`,
// `current_item_`, `tags_with_metadata_`, `flush_due_` and `fresh_` until end() has joined it; then
// finish() writes the rest. `mutex_` protects the members that adds on other schedulers use too.
//
// Invariant: an accepted event is in the queue, in `current_item_`, in the buffer of `file_` or in
// its file, or it is counted as lost, and the next flush() or close() throws the reason. An event
// leaves the buffer only after it was written, so a failed write loses none.

class event_writer::core {
 public:
  core(std::string directory, event_writer_options options, scheduler& sched)
      : options_(std::move(options)),
        directory_(std::move(directory)),
        scheduler_(sched),
        file_(make_file_names(directory_, options_, sched)),
        group_(shielded, "event writer") {
    begin();
  }
  core(const core&) = delete;
  core& operator=(const core&) = delete;
  ~core() {
    LEAT_ASSERT(
        group_.live_tasks() == 0,
        "event_writer destroyed while open: call close() on every path, including exceptions, or "
        "use with_event_writer()");
  }

  // Adds the current time if the event has none.
  [[nodiscard]] task<void> add(event_record e, bool now, std::string run_tag = {}) {
    if (now) e.wall_time = to_seconds(this_task::get_scheduler().wall_time());
    const std::exception_ptr error = last_error();
    if (error && !queue_->is_closed()) std::rethrow_exception(error);
    queued_event item{.bytes = e.to_bytes(), .run_tag = std::move(run_tag)};
    if (has_metadata(e)) item.with_metadata = std::move(e);
    const bool taken = co_await queue_->push(std::move(item));
    // relaxed here and below: counters, which do not order other data.
    (taken ? added_ : dropped_).fetch_add(1, std::memory_order_relaxed);
    if (taken) co_return;
    throw failure(errc::failed_precondition,
                  directory_ +
                      ": event added after close() is lost: join the "
                      "tasks that add events before close(), or call reopen()");
  }

  [[nodiscard]] task<void> add_run_metadata(tagged_run_metadata m, std::int64_t step) {
    const std::string tag = m.tag;
    claim_run_tag(tag);
    event_record e{0, step, std::move(m)};
    std::exception_ptr error;
    try {
      co_await add(std::move(e), true, tag);
    } catch (...) {
      error = std::current_exception();
    }
    if (!error) co_return;
    release_run_tag(tag);
    std::rethrow_exception(error);
  }

  [[nodiscard]] task<void> flush(bool durable) {
    flush_reply reply("flush");
    queued_event request{.flushed = std::move(reply.tx), .durable = durable};
    const bool taken = co_await queue_->push(std::move(request));
    if (!taken) co_return;
    const std::optional<std::exception_ptr> error = co_await reply.rx.receive();
    if (!error) {
      throw failure(errc::cancelled, directory_ + ": the writer was stopped before the flush");
    }
    if (*error) std::rethrow_exception(*error);
    if (const std::exception_ptr lost = take_unreported_error()) std::rethrow_exception(lost);
  }

  // The first one was created with the task that it ends: there may be no memory now.
  [[nodiscard]] task<void> close() { return closing_.valid() ? std::move(closing_) : end(); }

  void reopen() {
    if (!queue_->is_closed()) return;
    file_.abandon();
    set_error(nullptr);
    closed_ = false;
    begin();
  }

  [[nodiscard]] const std::string& directory() const noexcept { return directory_; }
  [[nodiscard]] std::string path() const {
    const detail::thread_lock lock(mutex_);
    return path_;
  }
  [[nodiscard]] std::uint64_t added() const noexcept {
    const std::uint64_t lost = lost_.load(std::memory_order_relaxed);
    // An event can be lost before its add() counts it.
    return std::max(added_.load(std::memory_order_relaxed), lost) - lost;
  }
  [[nodiscard]] std::uint64_t dropped() const noexcept {
    return dropped_.load(std::memory_order_relaxed) + lost_.load(std::memory_order_relaxed);
  }

 private:
  // If memory is exhausted, nothing has changed.
  void begin() {
    auto queue =
        std::make_unique<fifo_queue<queued_event>>(options_.max_queue, "events of " + directory_);
    closing_ = end();
    queue_.swap(queue);
    fresh_ = true;
    try {
      group_.spawn_on(scheduler_, run(), "events");
    } catch (...) {
      queue_.swap(queue);
      throw;
    }
  }

  task<void> end() {
    if (closed_) co_return;
    queue_->close();
    co_await group_.join();
    std::exception_ptr error;
    group_.spawn_on(scheduler_, finish(error), "close");
    co_await group_.join();
    if (error) std::rethrow_exception(error);
    closed_ = true;
    if (const std::exception_ptr lost = take_unreported_error()) std::rethrow_exception(lost);
  }

  // Processes the events until the queue is closed and empty. It waits in its own frame, since
  // there may be no memory for another, and other tasks wait for its answers.
  task<void> run() {
    for (;;) {
      if (this_task::stop_requested()) co_return;  // by the end of a simulated world
      bool due = false;
      bool waited = true;
      try {
        if (!current_item_ && flush_due_ == no_deadline) {
          current_item_ = co_await queue_->pop();
        } else if (!current_item_) {
          auto first = co_await select(queue_->pop(), sleep_until(flush_due_));
          due = first.index() == 1;
          if (!due) current_item_ = std::move(std::get<0>(first));
        }
      } catch (...) {
        waited = false;
      }
      if (!waited) {
        // No memory for a timed wait: the next event sets a deadline again, so let add() succeed.
        flush_due_ = no_deadline;
        set_error(nullptr);
        continue;
      }
      if (!due && !current_item_) co_return;
      std::optional<flush_reply::sender> requester;
      bool durable = false;
      if (!due) {
        requester = std::move(current_item_->flushed);
        durable = current_item_->durable;
        if (requester) current_item_.reset();
      }
      if (!due && !requester && !needs_write(take())) continue;
      std::exception_ptr error;
      try {
        co_await file_.write(scheduler_.wall_time(), durable || options_.durable);
      } catch (...) {
        error = std::current_exception();
      }
      written(error);
      if (requester) requester->send(std::move(error));
    }
  }

  // Called after an event was accepted, or was not.
  bool needs_write(bool taken) noexcept {
    if (flush_due_ == no_deadline)
      flush_due_ = deadline_after(scheduler_.now(), options_.flush_interval);
    const bool now = fresh_ || file_.pending_size() >= options_.buffer_size;
    // While writing fails, only the time determines the next attempt. Written bytes free capacity.
    return !taken || (now && !last_error());
  }

  // Adds it to the buffer of the file. Returns false if memory was exhausted; it is then retried
  // once, and lost after that.
  bool take() noexcept {
    queued_event& item = *current_item_;
    try {
      if (item.with_metadata) item.bytes = strip_known_metadata(item);
      file_.append(as_bytes(item.bytes));
    } catch (...) {
      if (!std::exchange(item.is_retry, true)) return false;
      drop(item, std::current_exception());
    }
    current_item_.reset();
    return true;
  }

  // An add() reported success: the next flush() or close() reports the loss.
  void drop(queued_event& item, std::exception_ptr error) noexcept {
    if (item.with_metadata) {
      const std::vector<summary_value>& values = std::get<summary>(item.with_metadata->what).values;
      for (std::size_t i = 0; i < item.values_checked; ++i) {
        if (!values[i].metadata.empty()) tags_with_metadata_.erase(values[i].tag);
      }
    }
    if (!item.run_tag.empty()) release_run_tag(item.run_tag);
    lost_.fetch_add(1, std::memory_order_relaxed);
    const detail::thread_lock lock(mutex_);
    unreported_error_ = std::move(error);
  }

  // Continues after a lack of memory.
  std::string strip_known_metadata(queued_event& item) {
    std::vector<summary_value>& values = std::get<summary>(item.with_metadata->what).values;
    for (; item.values_checked < values.size(); ++item.values_checked) {
      summary_value& v = values[item.values_checked];
      if (!v.metadata.empty() && !tags_with_metadata_.insert(v.tag).second) v.metadata.clear();
    }
    return item.with_metadata->to_bytes();
  }

  // Every add() throws this error until a write succeeds.
  void written(const std::exception_ptr& error) noexcept {
    if (!error) fresh_ = !file_.is_open();
    flush_due_ = error ? deadline_after(scheduler_.now(), options_.flush_interval) : no_deadline;
    set_error(error);
  }

  // In a task of the writer's group: a stop of the caller of close() must not prevent the write.
  task<void> finish(std::exception_ptr& error) {
    try {
      co_await file_.write(scheduler_.wall_time(), options_.durable);
      if (file_.is_open()) co_await file_.close();
    } catch (...) {
      error = std::current_exception();
    }
    written(error);
  }

  void claim_run_tag(const std::string& tag) {
    const detail::thread_lock lock(mutex_);
    if (run_tags_.insert(tag).second) return;
    throw failure(
        errc::invalid_argument,
        directory_ + ": tag '" + tag + "' of run metadata was already used: use a different tag");
  }
  void release_run_tag(const std::string& tag) {
    const detail::thread_lock lock(mutex_);
    run_tags_.erase(tag);
  }

  void set_error(std::exception_ptr error) noexcept {
    const detail::thread_lock lock(mutex_);
    error_.swap(error);
    try {
      path_ = file_.path();
    } catch (const std::bad_alloc&) {  // then it is the path of the previous file
    }
  }
  [[nodiscard]] std::exception_ptr take_unreported_error() noexcept {
    const detail::thread_lock lock(mutex_);
    return std::exchange(unreported_error_, nullptr);
  }
  [[nodiscard]] std::exception_ptr last_error() const noexcept {
    const detail::thread_lock lock(mutex_);
    return error_;
  }

  const event_writer_options options_;
  const std::string directory_;
  scheduler& scheduler_;
  detail::event_file file_;
  std::unique_ptr<fifo_queue<queued_event>> queue_;
  task<void> closing_;
  std::optional<queued_event> current_item_;  // popped, and not yet in the file's buffer
  std::set<std::string> tags_with_metadata_;  // tags whose metadata is in a file
  time_point flush_due_ = no_deadline;        // of accepted events that are not written
  bool fresh_ = true;                         // no event has reached the file
  bool closed_ = false;

  std::atomic<std::uint64_t> added_{0};  // including lost events
  std::atomic<std::uint64_t> lost_{0};   // because memory was exhausted
  std::atomic<std::uint64_t> dropped_{0};
  mutable detail::thread_mutex mutex_;
  std::exception_ptr error_ LEAT_GUARDED_BY(mutex_);             // of the last write
  std::exception_ptr unreported_error_ LEAT_GUARDED_BY(mutex_);  // why an event was lost
  std::string path_ LEAT_GUARDED_BY(mutex_);
  std::set<std::string> run_tags_ LEAT_GUARDED_BY(mutex_);

  task_group group_;  // last: its tasks use the other members
};

event_writer::event_writer(std::unique_ptr<core> c) noexcept : core_(std::move(c)) {}
event_writer::event_writer(event_writer&&) noexcept = default;
event_writer::~event_writer() = default;

event_writer::core& event_writer::get_core() const {
  LEAT_ASSERT(core_, "event_writer used after a move: use the object it was moved to");
  return *core_;
}

task<event_writer> event_writer::open(std::string directory, event_writer_options options) {
  check(options, directory);
  scheduler& sched = this_task::get_scheduler();
  co_await make_directories(directory);
  co_return event_writer(std::make_unique<core>(std::move(directory), std::move(options), sched));
}

// ------------------------------------------------------------------------------------------ adds

task<void> event_writer::add_now(std::int64_t step, event_record::content what) {
  return get_core().add({0, step, std::move(what)}, true);
}

task<void> event_writer::add_event(event_record e) { return get_core().add(std::move(e), false); }

task<void> event_writer::add_summary(summary s, std::int64_t step) {
  return add_now(step, std::move(s));
}

task<void> event_writer::add_scalar(std::string tag, double value, std::int64_t step) {
  return add_now(step, summary().add_scalar(std::move(tag), value));
}

task<void> event_writer::add_histogram(std::string tag, const histogram& values,
                                       std::int64_t step) {
  return add_now(step, summary().add_histogram(std::move(tag), values));
}

task<void> event_writer::add_histogram(std::string tag, std::span<const double> values,
                                       std::int64_t step) {
  return add_now(step, summary().add_histogram(std::move(tag), values));
}

task<void> event_writer::add_histogram(std::string tag, std::span<const float> values,
                                       std::int64_t step) {
  return add_now(step, summary().add_histogram(std::move(tag), values));
}

task<void> event_writer::add_summary_bytes(std::string_view bytes, std::int64_t step) {
  return add_now(step, summary::from_bytes(bytes));
}

task<void> event_writer::add_session_log(session_log::status_type status, std::int64_t step,
                                         std::string checkpoint_path, std::string message) {
  return add_now(step, session_log{status, std::move(checkpoint_path), std::move(message)});
}

task<void> event_writer::add_graph(std::string bytes) {
  return add_now(0, serialized_graph{std::move(bytes)});
}

task<void> event_writer::add_meta_graph(std::string bytes) {
  return add_now(0, serialized_meta_graph{std::move(bytes)});
}

task<void> event_writer::add_run_metadata(std::string bytes, std::string tag, std::int64_t step) {
  return get_core().add_run_metadata({std::move(tag), std::move(bytes)}, step);
}

task<void> event_writer::flush(bool durable) { return get_core().flush(durable); }
task<void> event_writer::close() { return get_core().close(); }

task<void> event_writer::reopen() {
  get_core().reopen();
  co_return;
}

const std::string& event_writer::directory() const noexcept { return get_core().directory(); }
std::string event_writer::path() const { return get_core().path(); }
std::uint64_t event_writer::events_added() const noexcept { return get_core().added(); }
std::uint64_t event_writer::events_dropped() const noexcept { return get_core().dropped(); }

}  // namespace LEAT
