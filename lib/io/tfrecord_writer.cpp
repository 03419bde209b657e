#include "leat/io/tfrecord_writer.hpp"

#include <utility>

#include "leat/codec/tfrecord.hpp"
#include "leat/core/error.hpp"

namespace leat {

task<tfrecord_writer> tfrecord_writer::open(std::string path, tfrecord_writer_options options) {
  file f = co_await file::open(path + ".partial", open_mode::write);
  co_return tfrecord_writer(std::move(f), std::move(path), options);
}

tfrecord_writer::tfrecord_writer(file f, std::string path, const tfrecord_writer_options& options)
    : file_(std::move(f)), path_(std::move(path)), options_(options) {
  buffer_.reserve(options.buffer_size);
}

tfrecord_writer::~tfrecord_writer() {
  if (!file_.is_open()) return;
  file_request request;
  request.what = file_request::operation::remove;
  request.path = file_.path().c_str();
  file_.backend().run_now(request);  // an error leaves the partial file: nothing better can be done
}

task<void> tfrecord_writer::write(byte_view payload) {
  if (!file_.is_open()) throw failure(errc::failed_precondition, path_ + ": write after close");
  append_tfrecord(buffer_, payload);
  ++records_;
  if (buffer_.size() >= options_.buffer_size) co_await flush();
}

task<void> tfrecord_writer::flush() {
  if (!file_.is_open()) throw failure(errc::failed_precondition, path_ + ": flush after close");
  co_await file_.write_at(offset_, buffer_);
  offset_ += buffer_.size();
  buffer_.clear();
}

task<void> tfrecord_writer::close() {
  if (!file_.is_open()) co_return;
  co_await flush();
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
