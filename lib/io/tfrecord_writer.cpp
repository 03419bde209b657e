#include "leat/io/tfrecord_writer.hpp"

#include <utility>

#include "leat/codec/tfrecord.hpp"
#include "leat/core/error.hpp"

namespace leat {
namespace {

// So many unfinished files of one path are too many: somebody forgets to clean up.
constexpr int max_partial_files = 1000;

constexpr std::size_t max_buffer_size = std::size_t{1} << 30;

}  // namespace

task<tfrecord_writer> tfrecord_writer::open(std::string path, tfrecord_writer_options options) {
  if (options.buffer_size > max_buffer_size) {
    throw failure(errc::invalid_argument,
                  path + ": tfrecord_writer_options::buffer_size is above the limit of " +
                      std::to_string(max_buffer_size));
  }
  const std::string partial = path + ".partial";
  for (int i = 0;; ++i) {
    std::string name = partial;
    if (i > 0) name += std::to_string(i);
    file f;
    try {
      f = co_await file::open(std::move(name), open_mode::write_new);
    } catch (const failure& e) {
      if (e.code() != errc::already_exists || i == max_partial_files) throw;
    }
    if (f.is_open()) co_return tfrecord_writer(std::move(f), std::move(path), options);
  }
}

tfrecord_writer::tfrecord_writer(file f, std::string path, const tfrecord_writer_options& options)
    : file_(std::move(f)), path_(std::move(path)), options_(options) {}

tfrecord_writer::~tfrecord_writer() {
  if (!file_.is_open()) return;
  file_request request;
  request.what = file_request::operation::remove;
  request.path = file_.path().c_str();
  file_.open_handle()->run_anywhere(
      request);  // an error leaves the partial file: nothing better can be done
}

task<void> tfrecord_writer::write(byte_view payload) {
  if (!file_.is_open()) throw failure(errc::failed_precondition, path_ + ": write after close");
  const detail::one_at_a_time::use use(in_use_);
  append_tfrecord(buffer_, payload);
  ++records_;
  if (buffer_.size() >= options_.buffer_size) co_await flush_buffer();
}

task<void> tfrecord_writer::flush() {
  if (!file_.is_open()) throw failure(errc::failed_precondition, path_ + ": flush after close");
  const detail::one_at_a_time::use use(in_use_);
  co_await flush_buffer();
}

task<void> tfrecord_writer::flush_buffer() {
  co_await file_.write_at(offset_, buffer_);
  offset_ += buffer_.size();
  buffer_.clear();
}

task<void> tfrecord_writer::close() {
  if (!file_.is_open()) co_return;
  const detail::one_at_a_time::use use(in_use_);
  co_await flush_buffer();
  co_await file_.sync();
  const std::string partial = file_.path();
  co_await rename_file(partial, path_);
  co_await file_.close();
  // A variable of its own: g++ 12 destroys a temporary of a conditional expression twice where the
  // expression is awaited.
  std::string directory = ".";
  if (const auto slash = path_.rfind('/'); slash != std::string::npos) {
    directory = path_.substr(0, slash + 1);
  }
  co_await sync_directory(std::move(directory));
}

}  // namespace leat
