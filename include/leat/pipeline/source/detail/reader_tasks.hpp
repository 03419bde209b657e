#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/task.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/reader/corruption.hpp"
#include "leat/io/reader/quarantine_log.hpp"
#include "leat/io/reader/record_batch.hpp"
#include "leat/pipeline/element/detail/block_recycler.hpp"
#include "leat/pipeline/metrics/stage_metrics.hpp"
#include "leat/pipeline/source/detail/files_state.hpp"
#include "leat/pipeline/stage/detail/pipeline_context.hpp"
#include "leat/queue/fifo_queue.hpp"

namespace LEAT::detail {

/// The position of a reader, and its counters.
struct reader_progress {
  std::uint64_t offset = 0;  ///< of the next record
  std::uint64_t index = 0;
  std::uint64_t reports = 0;
  std::uint64_t left_over = 0;
};

/// Returns a function that appends reports to the list, which must outlive it.
[[nodiscard]] std::function<void(const corruption_report&)> append_to(
    std::vector<corruption_report>& reports);

template <class Reader>
[[nodiscard]] reader_progress progress_of(const Reader& reader) {
  const record_position at = reader.position();
  return {at.offset, at.index, reader.statistics().reports, reader.statistics().left_over};
}

/// Opens a reader of a file at its saved position.
template <class Reader>
[[nodiscard]] task<std::unique_ptr<Reader>> open_at(const std::string& path,
                                                    const typename Reader::options_type& options,
                                                    file_position from) {
  std::unique_ptr<Reader> reader = co_await Reader::open(path, options);
  if (!from.open) co_return reader;
  reader->seek(from.offset, from.index);
  reader->count_reports(from.reports);
  co_return reader;
}

/// A file that a task reads ahead of its consumer.
template <class Reader>
struct prefetched_file {
  using batch = typename Reader::batch_type;
  // The result of one read, empty at the end. Reports and an error precede the records.
  struct step {
    batch block = {};
    reader_progress after = {};
    std::vector<corruption_report> reports = {};
    std::exception_ptr error = {};
  };

  prefetched_file(const std::string& p, const file_position& f) : path(p), from(f), steps(1, p) {}

  const std::string path;
  const file_position from;
  file_status status;               ///< known with the first step
  std::exception_ptr report_error;  ///< if a report could not be written
  fifo_queue<step> steps;
};

/// Tasks that each read one file at a time, in the order of the begin() calls, up to two steps
/// ahead of take(). Begin at most as many files as there are tasks, and take the oldest file
/// first: then every file is read.
///
/// Corruption is reported by take(), in the order of the records.
template <class Reader>
class reader_tasks {
 public:
  using batch = typename Reader::batch_type;
  using options = typename Reader::options_type;
  using prefetched = prefetched_file<Reader>;

  reader_tasks(stage_metrics& metrics, const options& o, std::size_t tasks)
      : metrics_(metrics),
        options_(o),
        options_without_report_(o),
        tasks_(tasks),
        files_(tasks, metrics.name() + " to read"),
        recycler_(2 * tasks) {
    metrics.set_capacity(tasks);
    options_without_report_.corruption.on_report = {};
    options_without_report_.corruption.log = {};
  }

  void start(pipeline_context& context) {
    for (std::size_t i = 0; i < tasks_; ++i) {
      metrics_.add_task();
      context.spawn_worker(work(), metrics_, i);
    }
  }

  /// Lets a task begin to read the file. Precondition: fewer files than tasks are in progress.
  ///
  /// Errors: the error of a task that has failed.
  [[nodiscard]] std::shared_ptr<prefetched> begin(const std::string& path,
                                                  const file_position& from) {
    auto file = std::make_shared<prefetched>(path, from);
    if (files_.try_push(file)) return file;
    const std::exception_ptr cause = files_.failure_cause();
    LEAT_ASSERT(cause, "more files opened than reader tasks exist");
    std::rethrow_exception(cause);
  }

  /// Replaces the contents of `block` by the next records of a file. Returns false at its end.
  /// Errors: errors of its reader and, after its records, of the quarantine log.
  [[nodiscard]] task<bool> take(prefetched& file, batch& block, reader_progress& after) {
    if (file.report_error) std::rethrow_exception(file.report_error);
    recycler_.give_back(std::exchange(block, batch()));
    std::optional<typename prefetched::step> s = co_await file.steps.pop();
    metrics_.add_held(-1);
    std::swap(block, s->block);
    after = s->after;
    const corruption_options& how = options_.corruption;
    for (const corruption_report& r : s->reports) {
      if (how.on_report) how.on_report(r);
      if (!how.log) continue;
      try {
        co_await how.log->add(r);
      } catch (...) {
        file.report_error = std::current_exception();
      }
    }
    if (block.empty() && file.report_error) std::rethrow_exception(file.report_error);
    if (s->error) std::rethrow_exception(s->error);
    co_return !block.empty();
  }

 private:
  using report_list = std::vector<corruption_report>;

  // A consumer that waits for a file which no task reads any more receives the reason.
  task<void> work() {
    std::shared_ptr<prefetched> file;
    std::exception_ptr error;
    try {
      for (;;) {
        std::optional<std::shared_ptr<prefetched>> next = co_await files_.pop();
        if (!next) break;
        file = std::move(*next);
        co_await read(*file);
      }
    } catch (...) {
      error = std::current_exception();
    }
    if (!error) co_return;
    if (file) file->steps.fail(error);
    files_.fail(error);
    while (const auto left = files_.try_pop()) (*left)->steps.fail(error);
  }

  task<void> read(prefetched& file) {
    const stage_work_timer here(metrics_, *scheduler::current());
    report_list reports;
    const options o = options_for(reports);
    std::unique_ptr<Reader> reader;
    for (bool more = true; more;) {
      typename prefetched::step s;
      try {
        s.block = recycler_.take();
        if (!reader) {
          reader = co_await open_at<Reader>(file.path, o, file.from);
          file.status = reader->status();
        }
        more = co_await reader->read_batch(s.block);
        s.after = progress_of(*reader);
      } catch (...) {
        s.error = std::current_exception();
        more = false;
      }
      s.reports.swap(reports);
      const stage_wait_timer w(metrics_, *scheduler::current(), stage_wait_timer::for_output);
      const bool taken = co_await file.steps.push(std::move(s));
      if (!taken) break;
      metrics_.add_held(1);
    }
  }

  // A report that is lost for lack of memory is an error, like a log that cannot be written.
  [[nodiscard]] options options_for(report_list& reports) const {
    options o = options_without_report_;
    o.corruption.on_report = append_to(reports);
    return o;
  }

  stage_metrics& metrics_;
  const options options_;
  options options_without_report_;
  const std::size_t tasks_;
  fifo_queue<std::shared_ptr<prefetched>> files_;
  block_recycler<batch> recycler_;
};

}  // namespace LEAT::detail
