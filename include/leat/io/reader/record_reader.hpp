#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>

#include "leat/async/task.hpp"
#include "leat/base/internal/exclusive_use.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/reader/corruption.hpp"
#include "leat/io/reader/detail/range_checksums.hpp"
#include "leat/io/reader/record_batch.hpp"
#include "leat/io/stream/detail/framing_types.hpp"
#include "leat/io/stream/internal/decompressed_stream.hpp"

namespace LEAT {

/// The counts of a reader so far.
struct reader_statistics {
  std::uint64_t records = 0;    ///< records delivered
  std::uint64_t reports = 0;    ///< reports of corruption that was skipped
  std::uint64_t skipped = 0;    ///< bytes skipped as corrupt
  std::uint64_t transient = 0;  ///< records that were corrupt, and intact when read again
  std::uint64_t left_over = 0;  ///< bytes of an incomplete record at the end, if allowed
};

/// The interface and behaviour that tfrecord_reader, line_reader, csv_reader and the other readers
/// share.
///
/// A reader reads the records of one file in order, in batches of views. If it cannot deliver a
/// record, it always delivers the records before it first. It then reads the record once more if
/// its data is corrupt and the file is neither compressed nor a pipe; a csv_reader, whose records
/// have no checksum, does not. If that does not help, the corruption policy decides.
///
/// Thread safety: thread-bound to the scheduler on which it was opened; one operation at a time.
template <class Framing>
class basic_record_reader {
 public:
  using options_type = typename Framing::options;
  using batch_type = basic_record_batch<typename Framing::view>;
  /// The name of the reader, such as "tfrecord_reader".
  static constexpr std::string_view name = Framing::name;
  /// True if each file is exactly one record.
  static constexpr bool is_one_record_per_file = Framing::is_one_record_per_file;

  /// Opens a file. Errors: not_found; permission_denied; failed_precondition for a directory;
  /// invalid_argument for an option that is out of range.
  [[nodiscard]] static task<std::unique_ptr<basic_record_reader>> open(
      std::string path, options_type options = {},
      std::source_location where = std::source_location::current());

  /// Rejects options that open() would reject for any file, for code that declares a reader before
  /// it has a file. Errors: invalid_argument; the message begins with `owner`.
  static void check_options(const options_type& options, std::string_view owner);

  /// Calls `add` with the name and the value of each option that determines which records a file
  /// has, their positions, and which of them are skipped as corrupt. A pipeline resumes only with
  /// the same values. Cost: no allocation.
  template <class Add>
  static void for_each_setting(const options_type& options, Add add) {
    Framing::for_each_setting(options, add);
  }

  /// Creates a reader that reads an open file from its beginning. Errors: failed_precondition if
  /// the file is not open; invalid_argument for an option that is out of range.
  basic_record_reader(file f, const options_type& options);
  basic_record_reader(const basic_record_reader&) = delete;
  basic_record_reader& operator=(const basic_record_reader&) = delete;
  ~basic_record_reader();

  /// Replaces the contents of `batch` with the next records: at least one, and as many as are
  /// available. Returns true, or false with an empty batch at the end of the file.
  ///
  /// Errors that repeat: data_loss for corruption and resource_exhausted for a record above a
  ///               limit, as the corruption policy determines, with path, record, offset and
  ///               checksums; data_loss for a file that became shorter. Every call throws the error
  ///               again until seek(), so a loop that catches it must exit.
  /// Errors that do not repeat: system errors, such as EIO, and std::bad_alloc. Nothing was
  ///               consumed: the next call reads the file again from the same position, and neither
  ///               skips nor repeats a record. An exception of on_report or of the log is thrown
  ///               once; that report is not delivered again.
  /// Cancellation: total. `batch` is empty and nothing was consumed. position() is unchanged, or
  ///               follows corruption that has already been reported, and the next call continues
  ///               from there. Reads that were submitted are kept for the next call.
  [[nodiscard]] task<bool> read_batch(batch_type& batch,
                                      std::source_location where = std::source_location::current());

  /// Moves forwards or backwards to a record whose `offset` and `index` are known, such as from
  /// position(), record_batch::position() or an index. With an offset at or after the end of the
  /// file, the reader is at the end.
  ///
  /// Errors: unimplemented for a file that can only be read in sequence, such as a pipe.
  /// Cost:   a compressed file is decompressed up to the offset, from its beginning,
  ///         unless the offset is after all bytes that have been decompressed.
  void seek(std::uint64_t offset, std::uint64_t index);

  /// Adds `before` to the number of reports that corruption_options::max_reports limits. If this
  /// reader continues the work of another one, pass the statistics().reports of that one.
  void count_reports(std::uint64_t before) noexcept { statistics_.reports += before; }

  /// Returns the position of the next record to be delivered; valid as long as the reader exists.
  [[nodiscard]] record_position position() const noexcept {
    if (search_) return {*path_, search_->report.offset, search_->report.index};
    return {*path_, next_offset(), index_};
  }

  /// Returns the path of the file.
  [[nodiscard]] const std::string& path() const noexcept { return *path_; }
  /// Returns the size and kind of the file when it was opened.
  [[nodiscard]] const file_status& status() const noexcept { return file_.status(); }
  /// Returns the counters of the reader.
  [[nodiscard]] const reader_statistics& statistics() const noexcept { return statistics_; }
  /// Returns true if the file is read with direct I/O: read_options::direct is set, and the file
  /// system has not refused it.
  [[nodiscard]] bool is_direct() const noexcept { return stream_.is_direct(); }
  /// Returns true if the file is compressed, according to the options or, once a batch has been
  /// read, to its first bytes.
  [[nodiscard]] bool is_compressed() const noexcept { return stream_.is_compressed(); }

  /// Returns the key of a record, its path and position, in the format of TensorFlow's readers.
  [[nodiscard]] static std::string key(const record_position& p) { return Framing::key(p); }

 private:
  // Corruption whose end is being sought.
  struct search {
    corruption_report report;
    std::uint64_t from = 0;
    bool end_known = false;      // it only has to be reached
    bool may_be_tail = false;    // not corruption if the search finds nothing
    bool candidate = false;      // there may be a record at the current offset
    std::uint64_t too_long = 0;  // headers with sizes above max_held

    // For the first one, the report states that the records that follow may lie within a record.
    void note_too_long(std::uint64_t offset) {
      if (++too_long == 1) report.what += detail::too_long_hint(offset);
    }
  };

  // Of the next record.
  [[nodiscard]] std::uint64_t next_offset() const noexcept { return offset_ + to_skip_; }
  [[nodiscard]] byte_view unread() const noexcept;
  [[nodiscard]] std::uint64_t left() const noexcept;
  [[nodiscard]] bool stream_failed() const noexcept;
  void drop(std::size_t count) noexcept;
  void skip() noexcept;
  [[nodiscard]] bool at_possible_record();
  [[nodiscard]] bool is_contradicted();
  [[nodiscard]] byte_view searchable_bytes();
  void skip_possible_record() noexcept;
  [[nodiscard]] task<void> verify_ahead(std::source_location where);
  [[nodiscard]] bool find(batch_type& batch);
  void count(const detail::framing_result& result, batch_type& batch);
  void clear_doubt(std::uint64_t offset);
  [[nodiscard]] corruption_report make_report(const detail::record_corruption& d) const;
  [[nodiscard]] task<void> read_more(std::source_location where);
  [[nodiscard]] task<void> handle_corruption(detail::record_corruption d,
                                             std::source_location where);
  [[nodiscard]] task<bool> is_end_confirmed(std::uint64_t size, std::source_location where);
  [[nodiscard]] task<bool> reread_once(const detail::record_corruption& d,
                                       std::source_location where);
  [[nodiscard]] task<bool> is_same_in_file(std::optional<std::uint64_t> size,
                                           std::source_location where);
  void check_policy(const detail::record_corruption& d) const;
  void end_file();
  [[nodiscard]] task<void> deliver_report(corruption_report report);
  [[nodiscard]] task<void> deliver_report_before_batch();
  void end_search(std::uint64_t offset);

  file file_;
  std::shared_ptr<const std::string> path_;
  Framing framing_;
  const corruption_options corruption_;
  detail::decompressed_stream stream_;
  detail::exclusive_use in_use_;
  std::size_t unread_ = 0;     // bytes at the end of the view that are not delivered
  std::uint64_t offset_ = 0;   // of the first of these
  std::uint64_t to_skip_ = 0;  // bytes from there to the next record
  std::uint64_t index_ = 0;    // of the next record
  std::uint64_t needed_ = 0;   // bytes of that one, where it is known that more will come
  std::size_t searched_ = 0;   // bytes of what is unread in which no record ends
  std::uint8_t state_ = 0;     // of the framing, after these
  bool at_end_ = false;        // nothing comes behind what is unread
  bool ended_ = false;
  std::optional<detail::record_corruption> fault_;  // of the next record
  std::optional<search> search_;
  detail::range_checksums checksums_;  // of what headers promised that are not believed
  std::uint64_t doubtful_until_ = 0;   // what was said to be a corrupt record ends here
  std::optional<std::uint64_t>
      size_to_verify_;  // of the next record: its bytes, to be looked at ahead
  std::optional<std::uint64_t>
      verified_at_;  // a record that was: it only has to be brought into view
  std::optional<corruption_report> reread_report_;   // corruption that was read again
  std::optional<corruption_report> pending_report_;  // before the batch is delivered
  std::exception_ptr error_;                         // for the next call
  reader_statistics statistics_;
};

}  // namespace LEAT
