#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "leat/async/internal/yield_turn.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/task.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/exclusive_use.hpp"
#include "leat/coordination/internal/pop_from_producer.hpp"
#include "leat/files/file_backend.hpp"
#include "leat/input/keyed_record.hpp"
#include "leat/input/reader_state.hpp"
#include "leat/io/reader/corruption.hpp"
#include "leat/io/reader/quarantine_log.hpp"
#include "leat/io/reader/record_batch.hpp"
#include "leat/queue/fifo_queue.hpp"

namespace LEAT {

/// A reader of the records of files, one file after another, whose names it removes from a queue.
///
///     leat::filename_queue_reader<leat::line_reader> reader(producer.queue());
///     while (auto record = co_await reader.read()) use(record->key, record->value);
///
/// The input ends when the queue is closed and has no more names. Files without records are
/// skipped. If a file cannot be opened, the call fails with an error that names the file, and the
/// next call continues with the next name, as in TensorFlow. With corruption_policy::skip_file, the
/// call reports the file and continues itself. An error that is not the fault of the file (an
/// option out of range, too few descriptors or too little memory, a stop) fails the call under
/// every policy, and the next call tries the same name again. The corruption policy also decides
/// about corrupt records; its limit counts over all files.
///
/// Some errors repeat and some do not; basic_record_reader::read_batch() lists them. After a
/// transient error, such as EIO, the next call continues at the same record. This includes EIO
/// while a file is opened, unless skip_file skips that file. Corruption under
/// corruption_policy::fail repeats with every call, so a loop that logs errors and continues never
/// ends: set another policy, or end the loop. Such a loop does not spin. After two consecutive
/// errors, each call first waits, 1 ms and then twice as long each time, at most about 1 s.
///
/// If the producer that fills the queue was never started, a call fails with deadline_exceeded
/// after producer_options::start_patience. The message names the producer and the missing call.
///
/// A stopped read consumes nothing: the next call opens the name that the stopped one has removed
/// from the queue, and delivers the records that it has read. A task that is stopped and later
/// continues with the same reader gets each record once. A state that is saved in between misses no
/// record.
///
/// You can save the position between two operations, even in the middle of a file, and restore it
/// in another reader. The state has the position after the last delivered record.
///
/// `Reader` is tfrecord_reader, line_reader, csv_reader, fixed_length_reader, whole_file_reader or
/// identity_reader; `Queue` is any queue of strings.
///
/// Thread safety: thread-bound to one scheduler, one operation at a time; the counters are
///                thread-safe and never wait.
/// TensorFlow: ReaderBase.
template <class Reader, class Queue = fifo_queue<std::string>>
class filename_queue_reader {
 public:
  using options_type = typename Reader::options_type;
  using batch_type = typename Reader::batch_type;

  /// Creates a reader, which error messages call `name`. The queue must outlive the reader.
  explicit filename_queue_reader(Queue& files, options_type options = {},
                                 std::string name = "filename_queue_reader")
      : files_(files), options_(std::move(options)), name_(std::move(name)) {}
  filename_queue_reader(const filename_queue_reader&) = delete;
  filename_queue_reader& operator=(const filename_queue_reader&) = delete;

  /// Returns the next record, or an empty optional at the end of the input.
  ///
  /// Errors:       the errors of Reader::open(), Reader::read_batch() and the queue's pop().
  /// Cancellation: total: neither a name nor a record is lost.
  /// Cost:         copies the record; read_batch() does not.
  [[nodiscard]] task<std::optional<keyed_record>> read(
      std::source_location where = std::source_location::current()) {
    const detail::exclusive_use::guard guard(in_use_);
    if (!co_await fill(where)) co_return std::nullopt;
    keyed_record record = next_record();
    count_record();
    co_return record;
  }

  /// Returns up to `count` records, all of one file and fewer at its end, or an empty optional at
  /// the end of the input. A count of 0 returns an empty list and has no effect.
  ///
  /// An error after some records ends the list, and the next call throws it. Lack of memory for a
  /// copy or a stop also ends the list, but the next call then continues with the next record.
  ///
  /// Errors:       as read(); invalid_argument if `count` is negative, that is, above PTRDIFF_MAX.
  /// Cancellation: total: neither a name nor a record is lost.
  [[nodiscard]] task<std::optional<std::vector<keyed_record>>> read_up_to(
      std::size_t count, std::source_location where = std::source_location::current()) {
    const detail::exclusive_use::guard guard(in_use_);
    std::vector<keyed_record> records;
    check_count(count);
    if (count == 0) co_return records;
    if (!co_await fill(where)) co_return std::nullopt;
    do {
      add_to(records, count);
      if (records.size() == count || next_ < batch_.size() || !reader_) break;
      try {
        co_await read_more(where);
      } catch (...) {
        keep_error();
      }
    } while (next_ < batch_.size());
    co_return records;
  }

  /// Replaces the contents of `batch` by the next records, all of one file, without copying them.
  /// Returns true, or false at the end of the input. Errors and cancellation are those of read().
  [[nodiscard]] task<bool> read_batch(
      batch_type& batch, std::source_location where = std::source_location::current()) {
    const detail::exclusive_use::guard guard(in_use_);
    batch.clear();
    if (!co_await fill(where)) co_return false;
    std::swap(batch, batch_);
    batch.drop_front(next_);
    count_records(batch.size());
    batch_.clear();
    next_ = 0;
    co_return true;
  }

  /// Discards the current file, its unread records and all counts. The queue does not change.
  void reset() { set_state({}); }

  /// Returns the position after the last delivered record. Do not call it during an operation.
  [[nodiscard]] std::string serialize_state() const { return state().to_bytes(); }

  /// Continues at the saved position of another reader; the queue does not change. The next read
  /// opens the current file, or fails with failed_precondition if its size or time has changed.
  ///
  /// Errors: invalid_argument if `bytes` are not a state; the reader is then unchanged.
  void restore_state(std::string_view bytes) { set_state(reader_state::from_bytes(bytes, name_)); }

  /// Returns the number of delivered records, including those that a restored state has counted.
  [[nodiscard]] std::uint64_t num_records_produced() const noexcept { return produced_; }
  /// Returns the number of files whose end was reached: with the record if a file is one record,
  /// otherwise with the read after the last record.
  [[nodiscard]] std::uint64_t num_work_units_completed() const noexcept { return finished_; }
  /// Returns the number of reports of corruption and of names that could not be opened. A reader
  /// that is restored from the state of this one continues its count.
  [[nodiscard]] std::uint64_t reports() const noexcept { return reports_; }
  /// Returns the number of bytes at the ends of files that are not a complete record, if the reader
  /// allows these; see reader_statistics::left_over. Only files whose end was reached count.
  [[nodiscard]] std::uint64_t left_over() const noexcept { return left_over_; }
  /// Returns the name of the reader, as error messages contain it.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  // Sees to it that a record is there; false at the end of the input.
  task<bool> fill(std::source_location where) {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    if (next_ < batch_.size()) co_return true;
    if (failures_ > 1) co_await sleep_for(detail::pause_after(failures_), where);
    try {
      const bool more = co_await refill(where);
      failures_ = 0;
      co_return more;
    } catch (const std::system_error& e) {
      if (e.code() != errc::cancelled) ++failures_;
      throw;
    } catch (...) {
      ++failures_;
      throw;
    }
  }

  task<bool> refill(std::source_location where) {
    while (next_ == batch_.size()) {
      if (reader_) {
        co_await read_more(where);
      } else if (pending_) {
        co_await open_pending(where);
      } else {
        std::optional<std::string> path =
            co_await detail::pop_from_producer<std::string>(files_, name_, "file name", where);
        if (!path) co_return false;
        current_work_ = std::move(*path);
        pending_ = true;
      }
    }
    co_return true;
  }

  task<void> read_more(std::source_location where) {
    batch_.clear();
    next_ = 0;
    const bool more = co_await reader_->read_batch(batch_, where);
    reports_ = reader_->statistics().reports;
    if (!more) finish_file();
  }

  // Keeps the error for the next call, because this call has records to return. Does not keep a
  // cancellation: it loses nothing, and another task may make the next call.
  void keep_error() noexcept {
    std::exception_ptr error = std::current_exception();
    if (to_error_code(error) != errc::cancelled) error_ = std::move(error);
  }

  void check_count(std::size_t count) const {
    if (count <= PTRDIFF_MAX) return;
    throw failure(errc::invalid_argument, name_ + ": count of read_up_to() is " +
                                              std::to_string(static_cast<std::ptrdiff_t>(count)) +
                                              ", must be 0 or more");
  }

  void finish_file() {
    left_over_ += reader_->statistics().left_over;
    reader_.reset();
    finished_ = started_.load();
  }

  // Copies the next record, and does not consume it: the copy may fail for lack of memory.
  [[nodiscard]] keyed_record next_record() const {
    const record_position position = batch_.position(next_);
    const auto& value = batch_[next_];
    return {Reader::key(position),
            std::string(reinterpret_cast<const char*>(value.data()), value.size()),
            position.path.size(), position.offset, position.index};
  }

  void count_record() {
    ++next_;
    count_records(1);
  }

  // The records of the batch, up to `count` of them; fewer where there is no memory for more.
  void add_to(std::vector<keyed_record>& records, std::size_t count) {
    try {
      while (next_ < batch_.size() && records.size() < count) {
        records.push_back(next_record());
        count_record();
      }
    } catch (const std::bad_alloc&) {
      if (records.empty()) throw;
    }
  }

  void count_records(std::size_t count) {
    produced_ += count;
    if constexpr (Reader::is_one_record_per_file) finish_file();
  }

  // A name that was taken stays pending until its file is open, or has failed to be.
  task<void> open_pending(std::source_location where) {
    std::exception_ptr failed;
    try {
      std::unique_ptr<Reader> opened = co_await Reader::open(current_work_, options_, where);
      opened->count_reports(reports_);
      if (resume_) seek_to(*opened, *resume_);
      reader_ = std::move(opened);
    } catch (...) {
      failed = std::current_exception();
    }
    if (failed && (resume_ || !is_file_error(to_error_code(failed))))
      std::rethrow_exception(failed);
    if (failed) co_return co_await skip_failed_file(failed);
    if (!resume_) ++started_;
    resume_.reset();
    pending_ = false;
  }

  // Returns true if the error concerns this file only, so that other files may be intact. Other
  // errors concern the options of the reader, or the resources of the process.
  [[nodiscard]] bool is_file_error(const std::error_code& code) const noexcept {
    const auto is_one_of = [&code](std::initializer_list<errc> all) {
      return std::ranges::any_of(all, [&code](errc e) { return code == e; });
    };
    if (is_one_of({errc::cancelled, errc::resource_exhausted, errc::unavailable})) return false;
    // A device may answer the next time.
    if (code == std::errc::io_error) {
      return options_.corruption.policy == corruption_policy::skip_file;
    }
    if (code.category() != error_category()) return true;  // the system's, such as ENAMETOOLONG
    return current_work_.find('\0') != std::string::npos ||
           is_one_of({errc::not_found, errc::permission_denied, errc::failed_precondition,
                      errc::data_loss});
  }

  void seek_to(Reader& reader, const reader_position& position) const {
    const std::string why = detail::resume_error(position, reader.status());
    if (!why.empty()) {
      throw failure(errc::failed_precondition,
                    name_ + ": cannot resume in " + current_work_ + ": " + why);
    }
    const bool was_open = position.file_size != 0 || position.modified_ns != 0;
    if (was_open) reader.seek(position.offset, position.index);
  }

  // A file that cannot be opened: throws, or reports it.
  task<void> skip_failed_file(std::exception_ptr failed) {
    const corruption_options& o = options_.corruption;
    if (o.policy != corruption_policy::skip_file || reports_ >= o.max_reports) {
      pending_ = false;
      std::rethrow_exception(failed);
    }
    const corruption_report report = detail::make_file_report(current_work_, failed);
    pending_ = false;
    ++reports_;
    if (o.on_report) o.on_report(report);
    if (o.log) co_await o.log->add(report);
    if (detail::is_turn_over()) co_await detail::yield_turn(name_ + ": read");
  }

  [[nodiscard]] reader_state state() const {
    reader_state s{.work_started = started_,
                   .work_finished = finished_,
                   .num_records_produced = produced_,
                   .current_work = current_work_,
                   .reports = reports_,
                   .left_over = left_over_};
    if (reader_) {
      s.reports = reader_->statistics().reports;  // also of a read that has failed since
      // After the last record the position may also be after the left-over bytes.
      if (next_ == batch_.size()) s.left_over += reader_->statistics().left_over;
      const record_position next =
          next_ < batch_.size() ? batch_.position(next_) : reader_->position();
      const file_status file = reader_->status();
      s.at = {next.offset, next.index, file.size, file.modified_ns};
    } else if (resume_) {
      s.at = resume_;
    } else if (pending_) {
      ++s.work_started;
      s.at.emplace();
    }
    return s;
  }

  void set_state(reader_state s) {
    const detail::exclusive_use::guard guard(in_use_);
    reader_.reset();
    batch_.clear();
    next_ = 0;
    error_ = nullptr;
    failures_ = 0;
    started_ = s.work_started;
    finished_ = s.work_finished;
    produced_ = s.num_records_produced;
    reports_ = s.reports;
    left_over_ = s.left_over;
    current_work_ = std::move(s.current_work);
    pending_ = s.at.has_value();
    resume_ = s.at;
  }

  Queue& files_;
  const options_type options_;
  const std::string name_;
  detail::exclusive_use in_use_;
  std::unique_ptr<Reader> reader_;  // of the current file, while it is not finished
  batch_type batch_;                // its last records; from next_ on they are not delivered
  std::size_t next_ = 0;
  std::string current_work_;
  bool pending_ = false;                   // the current file is to be opened
  std::optional<reader_position> resume_;  // where to go on in it
  std::exception_ptr error_;               // for the next call
  unsigned failures_ = 0;                  // consecutive calls that failed
  std::atomic<std::uint64_t> started_{0};
  std::atomic<std::uint64_t> finished_{0};
  std::atomic<std::uint64_t> produced_{0};
  std::atomic<std::uint64_t> reports_{0};
  std::atomic<std::uint64_t> left_over_{0};
};

/// The name of filename_queue_reader in version 0.2.
template <class Reader, class Queue = fifo_queue<std::string>>
using queue_reader [[deprecated("write leat::filename_queue_reader")]] =
    filename_queue_reader<Reader, Queue>;

}  // namespace LEAT
