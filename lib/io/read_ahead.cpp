#include "leat/io/detail/read_ahead.hpp"

#include <algorithm>
#include <cerrno>

#include "leat/core/error.hpp"
#include "leat/core/this_task.hpp"

namespace leat::detail {
namespace {

constexpr std::size_t max_chunk_size = std::size_t{1} << 30;
constexpr std::size_t max_depth = 1024;

std::size_t checked(std::size_t value, std::size_t limit, const char* option, const file& f) {
  if (value >= 1 && value <= limit) return value;
  throw failure(errc::invalid_argument, f.path() + ": read_options::" + option + " is " +
                                            std::to_string(value) + ", must be 1 to " +
                                            std::to_string(limit));
}

// No more than the file has, where that is known.
std::size_t useful_chunk_size(const read_options& options, const file& f) {
  if (!f.is_open()) throw failure(errc::failed_precondition, f.path() + ": the file is not open");
  const std::size_t wanted = checked(options.chunk_size, max_chunk_size, "chunk_size", f);
  const std::uint64_t size = f.status().size;
  return size == 0 ? wanted : static_cast<std::size_t>(std::min<std::uint64_t>(wanted, size));
}

// A file without a size is read in sequence: where it ends, and so where the next read has to
// begin, is known only when a read has come back.
std::size_t useful_depth(const read_options& options, const file& f) {
  const std::size_t wanted = checked(options.depth, max_depth, "depth", f);
  return f.status().size == 0 ? 1 : wanted;
}

}  // namespace

read_ahead::read_ahead(file& f, const read_options& options, std::size_t headroom)
    : file_(f), chunk_size_(useful_chunk_size(options, f)), depth_(useful_depth(options, f)) {
  // One more than are under way: the one that is looked at; and one that a consumer keeps.
  const std::uint64_t needed =
      has_size() ? (f.status().size + chunk_size_ - 1) / chunk_size_ : depth_;
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(needed, depth_));
  pool_ = chunk_pool::make(count + 2, headroom, chunk_size_);
}

read_ahead::~read_ahead() {
  let_go();
  view_.restart(0);
  pool_->close();
}

// Of the reads that are under way; a stream's might never end otherwise.
void read_ahead::let_go() noexcept {
  for (const chunk_reference& c : under_way_) {
    if (c->under_way()) c->file_->backend.cancel(*c);
  }
  under_way_.clear();
}

// Of a file whose size is known no more is read than it had when it was opened.
std::uint64_t read_ahead::left_to_ask() const noexcept {
  if (!has_size()) return chunk_size_;  // a pipe, a special file: until it ends
  return file_.status().size - next_offset_;
}

chunk_reference read_ahead::fresh(std::size_t carried) {
  chunk_reference c = window::room_for(*pool_, carried, chunk_size_);
  c->what = file_request::operation::read;
  c->retries = 0;
  c->cancelled = false;
  c->handle = file_.open_handle()->number;
  c->data = c->body();
  c->size = static_cast<std::size_t>(std::min<std::uint64_t>(c->body_size(), left_to_ask()));
  c->offset = file_.status().is_stream ? next_byte : next_offset_;
  return c;
}

// Hands a chunk to the backend, which then holds a reference to it.
void read_ahead::ask(chunk_reference c) {
  c->run_ = [](work_item& item) noexcept {
    auto& self = static_cast<chunk&>(static_cast<file_request&>(item));
    if (self.submit_again(self.file_->backend)) return;
    scheduler& home = *self.home;
    self.file_.reset();
    self.end();
    self.drop_reference();  // the last access
    home.work_finished();
  };
  c->home = scheduler::current();
  c->home->work_started();  // also when the reader has left: the read has to be seen to its end
  c->begin();
  next_offset_ += c->size;
  c->add_reference();
  c->file_ = file_.open_handle();
  c->file_->backend.submit(*c);
  under_way_.push_back(std::move(c));
}

// What the read of a chunk has brought, and the rest of it where it was cut short.
task<std::size_t> read_ahead::complete(chunk& c, std::source_location where) {
  if (c.result < 0) {
    throw_file_error(c.result, file_.path(), "cannot read" + at_offset(c.offset));
  }
  auto got = static_cast<std::size_t>(c.result);
  if (got < c.size && got > 0 && c.offset != next_byte) {
    got += co_await file_.read_at(c.offset + got, {c.body() + got, c.size - got}, where);
  }
  co_return got;
}

// The file ended within a chunk. One with a size has become shorter: what comes behind is not the
// rest of it, whatever it is. One without may grow on from here.
void read_ahead::end_here(std::size_t got, const chunk& c) noexcept {
  let_go();
  if (has_size()) ended_ = true;
  if (c.offset != next_byte) next_offset_ = c.offset + got;
}

// Sees to it that the chunk that comes next in the file is in front, and read; none where nothing
// is left to ask for.
task<void> read_ahead::fetch(std::size_t carried, std::source_location where) {
  if (under_way_.empty()) {
    if (left_to_ask() == 0) co_return;
    chunk_reference c = fresh(carried);
    file_handle& open = *file_.open_handle();
    if (open.backend.try_now(*c) && c->result > 0) {
      open.answers_at_once = true;
      next_offset_ += c->size;
      under_way_.push_back(std::move(c));
      co_return;
    }
    ask(std::move(c));
  }
  while (under_way_.size() < depth_ && left_to_ask() > 0) ask(fresh(0));
  chunk& next = *under_way_.front();
  co_await read_wait(next, file_.path(), next.offset, where);
}

task<bool> read_ahead::advance(std::size_t carried, std::source_location where) {
  const one_at_a_time::use use(in_use_);
  const file_handle::use file_in_use(file_.open_handle());
  if (co_await this_task::stop_requested()) {
    throw failure(errc::cancelled, file_.path() + ": read");
  }
  if (!ended_) co_await fetch(carried, where);
  chunk_reference c;
  std::size_t got = 0;
  if (!under_way_.empty()) {
    // It stays in front until it is whole: a stop meanwhile loses nothing.
    got = co_await complete(*under_way_.front(), where);
    c = std::move(under_way_.front());
    under_way_.pop_front();
    if (got < c->size) end_here(got, *c);
  }
  if (got == 0) {
    ended_ = true;
    if (view_.end() < file_.status().size) {
      throw failure(errc::data_loss,
                    file_.path() + ": the file became shorter while it was read: " +
                        std::to_string(file_.status().size) +
                        " bytes when it was opened, end at offset " + std::to_string(view_.end()));
    }
    view_.shrink(carried);
    co_return false;
  }
  view_.slide(*pool_, std::move(c), carried, got);
  co_return true;
}

void read_ahead::seek(std::uint64_t offset) noexcept {
  let_go();
  view_.restart(offset);
  next_offset_ = offset;
  ended_ = false;
}

}  // namespace leat::detail
