#include "leat/io/tfrecord_reader.hpp"

#include <cstdio>
#include <utility>

#include "leat/core/error.hpp"

namespace leat {
namespace {

// The beginning of a record that a chunk cuts off is carried over in front of the next chunk.
constexpr std::size_t headroom = std::size_t{128} << 10;

std::string hex(std::uint32_t value) {
  char text[11];
  std::snprintf(text, sizeof text, "0x%08x", value);
  return text;
}

}  // namespace

task<std::unique_ptr<tfrecord_reader>> tfrecord_reader::open(std::string path,
                                                             tfrecord_reader_options options,
                                                             std::source_location where) {
  file f = co_await file::open(std::move(path), open_mode::read, where);
  co_return std::make_unique<tfrecord_reader>(std::move(f), options);
}

tfrecord_reader::tfrecord_reader(file f, const tfrecord_reader_options& options)
    : file_(std::move(f)),
      path_(std::make_shared<const std::string>(file_.path())),
      options_(options),
      window_(file_, options.read, headroom) {}

task<bool> tfrecord_reader::read_batch(record_batch& batch, std::source_location where) {
  batch.clear();
  while (!ended_ && !error_) {
    const bool more = co_await window_.advance(unread_, where);
    if (more) {
      if (scan(batch)) co_return true;
    } else {
      ended_ = true;
      check_tail();
    }
  }
  if (error_) std::rethrow_exception(error_);
  co_return false;
}

// Delivers the whole records of the window; false when there was none.
bool tfrecord_reader::scan(record_batch& batch) {
  const byte_view bytes(window_.data(), window_.size());
  const tfrecord_scan result =
      scan_tfrecords(bytes, batch.records_, SIZE_MAX, options_.max_record_size, options_.checks);
  batch.keeper_ = window_.keeper();
  batch.path_ = path_;
  batch.data_ = window_.data();
  batch.offset_ = window_.offset();
  batch.index_ = index_;
  batch.frame_ = tfrecord_header_size;
  index_ += batch.size();
  offset_ = window_.offset() + result.consumed;
  unread_ = window_.size() - result.consumed;
  needed_ = result.needed;
  if (result.end != tfrecord_scan_end::need_more) {
    refuse(result);
  } else if (file_.status().size > 0 && needed_ > file_.status().size - offset_ && unread_ > 0) {
    check_tail();  // seen at once: nothing of what the header promises has to be held
  }
  return !batch.empty();
}

std::string tfrecord_reader::place() const {
  return path() + ", record " + std::to_string(index_) + " at offset " + std::to_string(offset_);
}

// What is left at the end of the file is no whole record.
void tfrecord_reader::check_tail() {
  if (unread_ == 0) return;
  if (options_.tolerate_truncated_tail) {
    ended_ = true;
    return;
  }
  const std::uint64_t there =
      file_.status().size > 0 ? file_.status().size - offset_ : std::uint64_t{unread_};
  error_ = std::make_exception_ptr(
      failure(errc::data_loss, place() + ": truncated: " + std::to_string(there) + " of " +
                                   std::to_string(needed_) + " bytes are there"));
}

void tfrecord_reader::refuse(const tfrecord_scan& scan) {
  std::string what;
  errc reason = errc::data_loss;
  switch (scan.end) {
    case tfrecord_scan_end::bad_length_checksum:
      what = "the checksum of the length is wrong: expected " + hex(scan.expected_crc) +
             ", actual " + hex(scan.actual_crc);
      if (offset_ == 0) what += "; is this a TFRecord file, and not a compressed one?";
      break;
    case tfrecord_scan_end::bad_payload_checksum:
      what = "the checksum of the payload of " + std::to_string(scan.length) +
             " bytes is wrong: expected " + hex(scan.expected_crc) + ", actual " +
             hex(scan.actual_crc);
      break;
    default:
      reason = errc::resource_exhausted;
      what = "a length of " + std::to_string(scan.length) + " bytes is above the limit " +
             "max_record_size of " + std::to_string(options_.max_record_size);
      break;
  }
  error_ = std::make_exception_ptr(failure(reason, place() + ": " + what));
}

}  // namespace leat
