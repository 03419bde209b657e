#include "leat/io/detail/read_ahead.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ostream>

#include "leat/core/error.hpp"
#include "leat/core/this_task.hpp"

namespace leat::detail {

// Waits for the read of one chunk. A stop lets go of the chunk, not of the read.
class read_ahead::chunk_wait final : public wait {
 public:
  chunk_wait(chunk& c, const file& f, const std::source_location& where) noexcept
      : wait(read_kind, where), chunk_(c), file_(f) {}
  ~chunk_wait() {
    if (chunk_.reader_ == this) chunk_.reader_ = nullptr;
  }

  bool await_ready() const noexcept { return !chunk_.in_flight_; }
  bool await_suspend(std::coroutine_handle<> h) noexcept {
    if (!bound()) attach(h);
    if (stop_requested()) {
      cancelled_ = true;
      return false;
    }
    begin_wait();
    chunk_.reader_ = this;
    return true;
  }
  void await_resume() const {
    if (cancelled_) throw failure(errc::cancelled, file_.path() + ": read");
  }

 private:
  static void cancel(wait& w) noexcept {
    auto& self = static_cast<chunk_wait&>(w);
    if (self.chunk_.reader_ != &self) return;
    self.chunk_.reader_ = nullptr;
    self.cancelled_ = true;
    self.wake();
  }
  static void describe(const wait& w, std::ostream& out) {
    const auto& self = static_cast<const chunk_wait&>(w);
    out << "'" << self.file_.path() << "' at offset " << self.chunk_.offset;
  }
  static const kind read_kind;

  chunk& chunk_;
  const file& file_;
  bool cancelled_ = false;
};

const wait::kind read_ahead::chunk_wait::read_kind{"read", &chunk_wait::cancel,
                                                   &chunk_wait::describe};

read_ahead::read_ahead(file& f, const read_options& options, std::size_t headroom)
    : file_(f), options_(options) {
  if (options.chunk_size == 0 || options.depth == 0) {
    throw failure(errc::invalid_argument,
                  f.path() + ": read_options::chunk_size and depth must be 1 or more");
  }
  // One more than are under way: the one that is looked at; and one that a consumer keeps.
  const std::uint64_t whole = std::max<std::uint64_t>(f.status().size, 1);
  const std::uint64_t needed =
      f.status().is_regular ? (whole + options.chunk_size - 1) / options.chunk_size : options.depth;
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(needed, options.depth));
  pool_ = chunk_pool::make(count + 2, headroom, options.chunk_size);
}

read_ahead::~read_ahead() {
  under_way_.clear();
  current_ = {};
  pool_->close();
}

// Of a file whose size is known no more is read than it had when it was opened.
std::uint64_t read_ahead::left_to_ask() const noexcept {
  if (file_.status().size == 0)
    return options_.chunk_size;  // a pipe, a special file: until it ends
  return file_.status().size - next_offset_;
}

chunk_reference read_ahead::fresh(std::size_t carried) {
  chunk_reference c = pool_->take();
  // A record longer than the headroom: room for it, and for as much again, so that the copying of a
  // very long record stays linear.
  if (c->headroom() < carried) {
    c = pool_->take_large(carried, std::max(options_.chunk_size, carried));
  }
  c->what = file_request::operation::read;
  c->handle = file_.handle();
  c->data = c->body();
  c->size = static_cast<std::size_t>(std::min<std::uint64_t>(c->body_size(), left_to_ask()));
  c->offset = file_.status().is_regular ? next_offset_ : next_byte;
  return c;
}

// Hands a chunk to the backend, which then holds a reference to it.
void read_ahead::ask(chunk_reference c) {
  c->run_ = [](work_item& item) noexcept {
    auto& self = static_cast<chunk&>(static_cast<file_request&>(item));
    scheduler& home = *self.home;
    self.in_flight_ = false;
    if (wait* const reader = std::exchange(self.reader_, nullptr)) reader->wake();
    self.drop_reference();  // the last access
    home.work_finished();
  };
  c->home = scheduler::current();
  c->home->work_started();  // also when the reader has left: the read has to be seen to its end
  c->in_flight_ = true;
  next_offset_ += c->size;
  c->add_reference();
  file_.backend().submit(*c);
  under_way_.push_back(std::move(c));
}

// Makes the chunk the present one, with what is carried over in front of it.
void read_ahead::adopt(chunk_reference c, std::size_t carried, std::size_t fresh_size) {
  if (c->headroom() < carried) {
    chunk_reference larger = pool_->take_large(carried, fresh_size);
    std::memcpy(larger->body(), c->body(), fresh_size);
    c = std::move(larger);
  }
  std::byte* const start = c->body() - carried;
  if (carried > 0) std::memcpy(start, data_ + (size_ - carried), carried);
  current_ = std::move(c);
  data_ = start;
  size_ = carried + fresh_size;
  end_offset_ += fresh_size;
}

// What a read that was asked for has brought, and the rest of it where it was cut short.
task<std::size_t> read_ahead::complete(chunk_reference c, std::source_location where) {
  co_await chunk_wait(*c, file_, where);
  if (c->result < 0) {
    throw_file_error(c->result, file_.path(), "cannot read at offset " + std::to_string(c->offset));
  }
  auto got = static_cast<std::size_t>(c->result);
  if (got < c->size && got > 0 && c->offset != next_byte) {
    got += co_await file_.read_at(c->offset + got, {c->body() + got, c->size - got}, where);
  }
  co_return got;
}

task<bool> read_ahead::advance(std::size_t carried, std::source_location where) {
  if (co_await this_task::stop_requested()) {
    throw failure(errc::cancelled, file_.path() + ": read");
  }
  std::size_t got = 0;
  chunk_reference c;
  if (!ended_ && under_way_.empty() && left_to_ask() > 0) {
    c = fresh(carried);
    if (file_.backend().try_now(*c) && c->result > 0) {
      got = static_cast<std::size_t>(c->result);
      next_offset_ += got;
    } else {
      ask(std::move(c));
    }
  }
  if (got == 0 && !ended_) {
    const std::size_t depth = file_.status().is_regular ? options_.depth : 1;
    while (!under_way_.empty() && under_way_.size() < depth && left_to_ask() > 0) ask(fresh(0));
    if (!under_way_.empty()) {
      c = under_way_.front();
      got = co_await complete(c, where);
      under_way_.pop_front();
    }
  }
  if (got == 0) {
    ended_ = true;
    under_way_.clear();
    if (end_offset_ < file_.status().size) {
      throw failure(errc::data_loss,
                    file_.path() + ": the file became shorter while it was read: " +
                        std::to_string(file_.status().size) +
                        " bytes when it was opened, end at offset " + std::to_string(end_offset_));
    }
    data_ += size_ - carried;
    size_ = carried;
    co_return false;
  }
  adopt(std::move(c), carried, got);
  co_return true;
}

}  // namespace leat::detail
