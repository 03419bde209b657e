#include "leat/io/line_reader.hpp"

#include <algorithm>
#include <utility>

#include "leat/codec/line_splitter.hpp"
#include "leat/core/error.hpp"

namespace leat {
namespace {

// The beginning of a line that a chunk cuts off is carried over in front of the next chunk.
constexpr std::size_t headroom = std::size_t{16} << 10;

}  // namespace

task<std::unique_ptr<line_reader>> line_reader::open(std::string path, line_reader_options options,
                                                     std::source_location where) {
  file f = co_await file::open(std::move(path), open_mode::read, where);
  co_return std::make_unique<line_reader>(std::move(f), options);
}

line_reader::line_reader(file f, const line_reader_options& options)
    : file_(std::move(f)),
      path_(std::make_shared<const std::string>(file_.path())),
      options_(options),
      window_(file_, options.read, headroom) {
  if (options.max_line_size == 0) {
    throw failure(errc::invalid_argument, path() + ": max_line_size must be 1 or more");
  }
}

task<bool> line_reader::read_batch(line_batch& batch, std::source_location where) {
  batch.clear();
  while (!ended_ && !error_) {
    const bool more = co_await window_.advance(unread_, where);
    if (more) {
      if (split(batch)) co_return true;
    } else {
      ended_ = true;
      if (take_last_line(batch)) co_return true;
    }
  }
  if (error_) std::rethrow_exception(error_);
  co_return false;
}

// Delivers the whole lines of the window; false when there was none.
bool line_reader::split(line_batch& batch) {
  const std::string_view text(reinterpret_cast<const char*>(window_.data()), window_.size());
  const std::size_t consumed = split_lines(text, batch.records_);
  publish(batch, consumed);
  if (!error_) {
    const std::size_t size = last_line(text.substr(text.size() - unread_)).size();
    if (size > options_.max_line_size) refuse_long_line(size);
  }
  return !batch.empty();
}

bool line_reader::take_last_line(line_batch& batch) {
  if (unread_ == 0) return false;
  const char* const rest = reinterpret_cast<const char*>(window_.data());
  batch.records_.push_back(last_line(std::string_view(rest, unread_)));
  publish(batch, unread_);
  return !batch.empty();
}

void line_reader::publish(line_batch& batch, std::size_t consumed) {
  auto& lines = batch.records_;
  const char* const begin = reinterpret_cast<const char*>(window_.data());
  // Checked here, not in the splitter: nobody has to pay for it who has no such line.
  const auto too_long = std::find_if(lines.begin(), lines.end(), [this](std::string_view line) {
    return line.size() > options_.max_line_size;
  });
  std::size_t refused = 0;
  if (too_long != lines.end()) {
    refused = too_long->size();
    consumed = static_cast<std::size_t>(too_long->data() - begin);
    lines.erase(too_long, lines.end());
  }
  offset_ = window_.offset() + consumed;
  unread_ = window_.size() - consumed;
  batch.index_ = index_;
  index_ += lines.size();
  if (refused > 0) refuse_long_line(refused);
  batch.keeper_ = window_.keeper();
  batch.path_ = path_;
  batch.data_ = window_.data();
  batch.offset_ = window_.offset();
  if (skipped_ < options_.skip_header_lines) {
    const std::size_t skip = std::min(options_.skip_header_lines - skipped_, lines.size());
    lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(skip));
    batch.index_ += skip;
    skipped_ += skip;
  }
}

void line_reader::refuse_long_line(std::size_t size) {
  error_ = std::make_exception_ptr(failure(
      errc::resource_exhausted, path() + ", line " + std::to_string(index_ + 1) + " at offset " +
                                    std::to_string(offset_) + ": " + std::to_string(size) +
                                    " bytes or more are above the limit max_line_size of " +
                                    std::to_string(options_.max_line_size)));
}

}  // namespace leat
