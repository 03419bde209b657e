#include "leat/io/writer/tfrecord_writer.hpp"

#include <utility>

#include "io/writer/tfrecord_options.hpp"
#include "leat/base/error.hpp"
#include "leat/codec/tfrecord/tfrecord.hpp"
#include "leat/io/index/tfrecord_index_file.hpp"

namespace LEAT {
namespace {

constexpr std::size_t max_buffer_size = std::size_t{1} << 30;

}  // namespace

void detail::check_size(std::size_t value, std::size_t least, const char* option,
                        const std::string& path) {
  if (value >= least && value <= max_buffer_size) return;
  throw failure(errc::invalid_argument, path + ": " + option + " is " + std::to_string(value) +
                                            ", must be " + std::to_string(least) + " to " +
                                            std::to_string(max_buffer_size));
}

void detail::check(const tfrecord_writer_options& options, const std::string& path) {
  check_size(options.buffer_size, 0, "tfrecord_writer_options::buffer_size", path);
  check_size(options.output_buffer_size, deflater::smallest_output,
             "tfrecord_writer_options::output_buffer_size", path);
  if (options.flush_mode == deflate_flush::finish) {
    throw failure(errc::invalid_argument, path +
                                              ": tfrecord_writer_options::flush_mode must not be "
                                              "finish: use close() to finish the stream");
  }
  if (options.index && options.compression != compression::none) {
    throw failure(errc::invalid_argument, path +
                                              ": tfrecord_writer_options::index is not supported "
                                              "for a compressed file: set compression::none");
  }
}

// Adds to both or to neither.
void detail::append_record(output_buffer& to, std::optional<sidecar_index>& index,
                           byte_view payload) {
  const std::size_t before = to.input().size();
  append_tfrecord(to.input(), payload);
  if (!index) return;
  try {
    index->add(payload.size());
  } catch (...) {
    to.input().resize(before);
    throw;
  }
}

task<tfrecord_writer> tfrecord_writer::open(std::string path, tfrecord_writer_options options) {
  detail::check(options, path);
  detail::output_buffer output(options.compression, options.deflate, options.buffer_size,
                               options.output_buffer_size);
  auto file = co_await detail::atomic_file::create(path);
  co_return tfrecord_writer(std::move(file), std::move(output), std::move(path), options);
}

tfrecord_writer::tfrecord_writer(detail::atomic_file f, detail::output_buffer output,
                                 std::string path, const tfrecord_writer_options& options)
    : file_(std::move(f)),
      output_(std::move(output)),
      path_(std::move(path)),
      flush_mode_(options.flush_mode) {
  if (options.index) index_.emplace();
}

task<void> tfrecord_writer::write(byte_view payload) {
  if (closing_) throw failure(errc::failed_precondition, path_ + ": write after close");
  const detail::exclusive_use::guard guard(in_use_);
  detail::append_record(output_, index_, payload);
  ++records_;
  if (output_.full()) co_await output_.drain(file_.contents(), deflate_flush::none);
}

task<void> tfrecord_writer::flush() {
  if (closing_) throw failure(errc::failed_precondition, path_ + ": flush after close");
  const detail::exclusive_use::guard guard(in_use_);
  co_await output_.drain(file_.contents(), flush_mode_);
}

task<void> tfrecord_writer::close() {
  if (closed_) co_return;
  const detail::exclusive_use::guard guard(in_use_);
  // A repeated call continues with the first step that is not complete.
  closing_ = true;
  if (file_.contents().is_open()) {
    co_await output_.drain(file_.contents(), deflate_flush::finish);
    co_await file_.finish();
  }
  co_await commit();
  co_await detail::sync_parent_directory(path_);
  closed_ = true;
}

// The data file last: it completes the pair.
task<void> tfrecord_writer::commit() {
  if (index_) {
    const std::string index_path = tfrecord_index_path(path_);
    co_await index_->finish(file_.partial_path(), index_path);
    co_await index_->commit(index_path);
  }
  co_await file_.commit(path_);
  file_.release();
  if (index_) index_->release();
}

}  // namespace LEAT
