#include "leat/io/writer/tfrecord_appender.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "base/internal/error_text.hpp"
#include "io/writer/tfrecord_options.hpp"
#include "leat/base/error.hpp"
#include "leat/codec/compression/compression.hpp"
#include "leat/io/file/internal/atomic_file.hpp"
#include "leat/io/index/tfrecord_index_file.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"

namespace LEAT {
namespace {

// The order of the steps makes an append undoable after a crash at any point:
//
// - The note is created, empty, before the file is read. It locks out other appenders. An empty
//   note means that nothing was appended.
// - The original size is written to the note, and both the note and its directory entry are synced,
//   before the first byte is appended.
// - The appended records are synced, and the index has its name, before the note is removed. The
//   removal completes the append.
//
// The destructor undoes an append in the opposite order: it truncates and syncs the file, and then
// the note removes itself. If the file could not be restored, the note stays.

using op = file_request::operation;

std::string make_note_path(const std::string& path) { return path + ".append"; }

// Parses "1234
// ". An empty result means that the note was not completely on the device when the machine stopped:
// its missing end is absent or zero. Errors: data_loss for other contents.
std::optional<std::uint64_t> parse_note(std::string_view text, const std::string& path) {
  constexpr std::string_view digits = "0123456789";
  constexpr std::size_t longest = std::numeric_limits<std::uint64_t>::digits10 + 2;
  const bool whole = text.ends_with('\n');
  const std::string_view number = text.substr(0, text.size() - (whole ? 1 : 0));
  if (!whole && text.size() <= longest &&
      number.find_first_not_of(std::string("\0", 1).append(digits)) == number.npos) {
    return std::nullopt;
  }
  std::uint64_t size = 0;
  const char* const end = number.data() + number.size();
  const auto [behind, error] = std::from_chars(number.data(), end, size);
  if (!whole || error != std::errc() || behind != end) {
    throw failure(errc::data_loss,
                  path + ": invalid size in the note of an append: the file was not truncated");
  }
  return size;
}

// Counts the records of an intact file; throws for any other. Adds them to the index if there is
// one.
task<std::uint64_t> count_records(const file& f, tfrecord_appender_options options,
                                  std::optional<detail::sidecar_index>& index) {
  tfrecord_reader_options how;
  how.checks = options.checks;
  how.max_record_size = options.max_record_size;
  auto reader = co_await tfrecord_reader::open(f.path(), how);
  record_batch batch;
  try {
    for (bool more = true; more;) {
      more = co_await reader->read_batch(batch);
      if (!index) continue;
      for (const byte_view record : batch) index->add(record.size());
    }
  } catch (const failure& e) {
    if (e.code() != errc::data_loss) throw;
    throw failure(errc::data_loss, detail::without_code_message(e) +
                                       "; cannot append: copy the intact records to a new file");
  }
  if (reader->position().offset != f.status().size) {
    throw failure(errc::aborted,
                  f.path() + ": file was changed by another writer: use one writer per file");
  }
  co_return reader->position().index;
}

task<void> check_kind(file& f) {
  if (!f.status().is_regular) {
    throw failure(errc::invalid_argument,
                  f.path() + ": not a regular file: append only to regular files");
  }
  std::array<std::byte, compression_sample_size> beginning;
  const std::size_t size = co_await f.read_at(0, beginning);
  const auto kind = detect_tfrecord_compression(byte_view(beginning).first(size));
  if (kind != compression::none) {
    throw failure(errc::invalid_argument, f.path() +
                                              ": cannot append to a file that is compressed with " +
                                              std::string(to_string(kind)) + ": write a new file");
  }
}

// An index replaces a regular file only.
task<void> check_index(std::string path) {
  try {
    const file_status status = co_await get_status(path);
    if (status.is_regular) co_return;
  } catch (const failure& e) {
    if (e.code() != errc::not_found) throw;
    co_return;
  }
  throw failure(errc::invalid_argument, path + ": not a regular file: the index would replace it");
}

}  // namespace

// The note next to the file. Its destructor removes it unless it is already removed or has to stay.
class tfrecord_appender::note {
 public:
  static task<std::unique_ptr<note>> make(std::string path) {
    auto n = std::make_unique<note>();
    n->path_ = make_note_path(path);
    try {
      n->file_ = co_await file::open(n->path_, open_mode::write_new);
    } catch (const failure& e) {
      if (e.code() != errc::already_exists) throw;
      throw failure(errc::already_exists,
                    path + ": append is in progress or was interrupted, according to " + n->path_ +
                        "; if it was interrupted, call roll_back_append() to undo it");
    }
    n->handle_ = n->file_.open_handle();
    co_return n;
  }

  note() = default;
  note(const note&) = delete;
  note& operator=(const note&) = delete;
  ~note() {
    if (!handle_ || done_) return;
    file_request request;
    request.what = op::remove;
    request.path = path_.c_str();
    handle_->run_without_scheduler(request);  // an error leaves it: then it states the remedy
  }

  // Syncs the note before anything is appended.
  task<void> write(std::uint64_t size) {
    const std::string text = std::to_string(size) + "\n";
    co_await file_.write_at(0, as_bytes(text));
    co_await file_.sync();
    co_await file_.close();
    co_await detail::sync_parent_directory(path_);
  }

  task<void> remove() {
    if (done_) co_return;
    co_await remove_file(path_);
    done_ = true;
  }

  void leave() noexcept { done_ = true; }
  [[nodiscard]] bool done() const noexcept { return done_; }

 private:
  file file_;
  std::shared_ptr<detail::file_handle> handle_;  // for the destructor, when the file is closed
  std::string path_;
  bool done_ = false;
};

task<tfrecord_appender> tfrecord_appender::open(std::string path,
                                                tfrecord_appender_options options) {
  detail::check_size(options.buffer_size, 0, "tfrecord_appender_options::buffer_size", path);
  auto n = co_await note::make(path);
  file f = co_await file::open(std::move(path), open_mode::read_write);
  // Otherwise an append that fails could not be undone.
  detail::require_capability(f.path(), f.open_handle()->backend, &file_capabilities::truncate);
  co_await check_kind(f);
  std::optional<detail::sidecar_index> index;
  if (options.index) {
    index.emplace();
    co_await check_index(tfrecord_index_path(f.path()));
  }
  const std::uint64_t records = co_await count_records(f, options, index);
  co_await n->write(f.status().size);
  co_return tfrecord_appender(std::move(n), std::move(f), records, std::move(index), options);
}

tfrecord_appender::tfrecord_appender(std::unique_ptr<note> n, file f,
                                     std::uint64_t original_record_count,
                                     std::optional<detail::sidecar_index> index,
                                     const tfrecord_appender_options& options)
    : note_(std::move(n)),
      file_(std::move(f)),
      output_(compression::none, {}, options.buffer_size, 0, file_.status().size),
      index_(std::move(index)),
      original_record_count_(original_record_count),
      original_size_(file_.status().size) {}

tfrecord_appender::tfrecord_appender(tfrecord_appender&&) noexcept = default;

tfrecord_appender::~tfrecord_appender() {
  if (!note_ || note_->done()) return;
  const auto on_device = [this](op what) {
    file_request request;
    request.what = what;
    request.handle = file_.open_handle()->number;
    request.offset = original_size_;
    file_.open_handle()->run_without_scheduler(request);
    return request.result == 0;
  };
  // The note is removed only when the restored file is on the device.
  if (!on_device(op::truncate) || !on_device(op::sync)) note_->leave();
}

task<void> tfrecord_appender::write(byte_view payload) {
  if (closing_) throw failure(errc::failed_precondition, file_.path() + ": write after close");
  const detail::exclusive_use::guard guard(in_use_);
  detail::append_record(output_, index_, payload);
  ++records_;
  if (output_.full()) co_await output_.drain(file_, deflate_flush::none);
}

task<void> tfrecord_appender::flush() {
  if (closing_) throw failure(errc::failed_precondition, file_.path() + ": flush after close");
  const detail::exclusive_use::guard guard(in_use_);
  co_await output_.drain(file_, deflate_flush::none);
}

task<void> tfrecord_appender::close() {
  if (closed_) co_return;
  const detail::exclusive_use::guard guard(in_use_);
  closing_ = true;
  if (!note_->done()) {
    co_await output_.drain(file_, deflate_flush::none);
    co_await file_.sync();
    if (index_) co_await commit_index();
    co_await note_->remove();
  }
  // Only now, when the append is complete. Until then, the destructor removes the index.
  if (index_) index_->release();
  co_await file_.close();
  co_await detail::sync_parent_directory(file_.path());
  closed_ = true;
}

// Renamed before the note is removed, which completes the append.
task<void> tfrecord_appender::commit_index() {
  const std::string index_path = tfrecord_index_path(file_.path());
  co_await index_->finish(file_.path(), index_path);
  co_await index_->commit(index_path);
}

task<bool> roll_back_append(std::string path) {
  const std::string note_path = make_note_path(path);
  file n;
  try {
    n = co_await file::open(note_path);
  } catch (const failure& e) {
    if (e.code() != errc::not_found) throw;
  }
  if (!n.is_open()) co_return false;
  std::string text(32, '\0');
  const std::size_t read =
      co_await n.read_at(0, std::span(reinterpret_cast<std::byte*>(text.data()), text.size()));
  text.resize(read);
  // Without a number, nothing was appended yet.
  if (const auto size = parse_note(text, note_path)) {
    file f = co_await file::open(path, open_mode::read_write);
    if (f.status().size < *size) {
      throw failure(errc::data_loss, path + ": file has " + std::to_string(f.status().size) +
                                         " bytes, but had " + std::to_string(*size) +
                                         " before the append according to " + note_path);
    }
    co_await f.truncate(*size);
    co_await f.sync();
    co_await f.close();
  }
  co_await remove_file(note_path);
  co_await detail::sync_parent_directory(path);
  co_return true;
}

}  // namespace LEAT
