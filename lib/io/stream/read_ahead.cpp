#include "leat/io/stream/detail/read_ahead.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "leat/async/this_task.hpp"
#include "leat/base/error.hpp"

namespace LEAT::detail {
namespace {

// `under_way_` has the chunks that were requested and are not in view yet, in the order of the
// file. The first one continues the view, and `next_offset_` follows the last one. A chunk stays in
// the list until its bytes are in view. After a read error the list is emptied, and the next call
// reads the file again from the offset of the error.
//
// A read in flight owns a reference to its chunk, a handle of its file and a hold on its scheduler.
// So the reader can be destroyed, or drop chunks from the list, while the kernel writes to their
// memory.

constexpr std::size_t max_chunk_size = std::size_t{1} << 30;
constexpr std::size_t max_depth = 1024;
// Unit of direct reads: offsets, sizes and memory; the body of a chunk is aligned to it.
constexpr std::size_t direct_unit = 4096;

std::uint64_t round_down(std::uint64_t n) noexcept { return n / direct_unit * direct_unit; }
std::uint64_t round_up(std::uint64_t n) noexcept { return round_down(n + direct_unit - 1); }

void require(std::size_t value, std::size_t limit, const char* option, std::string_view owner) {
  if (value >= 1 && value <= limit) return;
  throw failure(errc::invalid_argument, std::string(owner) + ": read_options::" + option + " is " +
                                            std::to_string(value) + ", must be 1 to " +
                                            std::to_string(limit));
}

// At most the size of the file, if it is known.
std::size_t useful_chunk_size(const read_options& options, const file& f) {
  if (!f.is_open()) throw failure(errc::failed_precondition, f.path() + ": file is not open");
  check(options, f.path());
  if (options.regular_only && !f.status().is_regular) {
    throw failure(errc::failed_precondition,
                  f.path() + ": not a regular file, but read_options::regular_only is set");
  }
  const std::size_t wanted = options.chunk_size;
  const std::uint64_t size = f.status().size;
  if (size == 0) return wanted;
  const std::uint64_t useful = std::min<std::uint64_t>(wanted, size);
  return static_cast<std::size_t>(options.direct ? round_up(useful) : useful);
}

bool try_direct(const read_options& options, const file& f) noexcept {
  if (!options.direct || f.status().size == 0) return false;
  const file_handle& open = *f.open_handle();
  return open.backend.capabilities().direct && open.backend.set_direct(open.number, true) == 0;
}

// A file without a size is read in sequence: its end, and so the offset of the next read, is known
// only after a read completes.
std::size_t useful_depth(const read_options& options, const file& f) {
  return f.status().size == 0 ? 1 : options.depth;
}

}  // namespace

void check(const read_options& options, std::string_view owner) {
  require(options.chunk_size, max_chunk_size, "chunk_size", owner);
  require(options.depth, max_depth, "depth", owner);
}

// Reads of the file need no alignment during its lifetime.
class read_ahead::buffered_io_scope {
 public:
  explicit buffered_io_scope(const read_ahead& r) noexcept : reader_(r) { set(false); }
  buffered_io_scope(const buffered_io_scope&) = delete;
  buffered_io_scope& operator=(const buffered_io_scope&) = delete;
  ~buffered_io_scope() { set(true); }

 private:
  void set(bool direct) const noexcept {
    const file_handle& open = *reader_.file_.open_handle();
    if (reader_.direct_) static_cast<void>(open.backend.set_direct(open.number, direct));
  }

  const read_ahead& reader_;
};

read_ahead::read_ahead(file& f, const read_options& options, std::size_t headroom)
    : file_(f),
      chunk_size_(useful_chunk_size(options, f)),
      depth_(useful_depth(options, f)),
      requested_direct_(options.direct),
      direct_(try_direct(options, f)) {
  // In addition to the reads in flight: the chunk in view, and one that a consumer keeps.
  const std::uint64_t needed =
      has_size() ? (f.status().size + chunk_size_ - 1) / chunk_size_ : depth_;
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(needed, depth_));
  pool_ = chunk_pool::make(count + 2, headroom, chunk_size_);
}

read_ahead::~read_ahead() {
  cancel_reads();
  view_.restart(0);
  pool_->close();
}

// Cancels reads in flight; a read of a stream might never end otherwise.
void read_ahead::cancel_reads() noexcept {
  for (const chunk_reference& c : under_way_) {
    if (c->under_way()) c->file_->backend.cancel(*c);
  }
  under_way_.clear();
}

// A file of known size is read up to the size at its opening.
std::uint64_t read_ahead::bytes_to_request() const noexcept {
  if (!has_size()) return chunk_size_;  // a pipe or a special file: until it ends
  return file_.status().size - next_offset_;
}

// Returns how much of a chunk the file had when it was opened.
std::size_t read_ahead::bytes_in_file(const chunk& c) const noexcept {
  if (!has_size()) return c.size;
  return static_cast<std::size_t>(std::min<std::uint64_t>(c.size, file_.status().size - c.offset));
}

// Direct reads go to the beginning of a chunk, which is aligned.
chunk_reference read_ahead::prepare_chunk(const stream_window::request& d) {
  stream_window::free_space r = direct_ ? stream_window::reserve_chunk(*pool_, d, chunk_size_)
                                        : view_.reserve(*pool_, d, chunk_size_);
  chunk_reference c = std::move(r.in);
  c->what = file_request::operation::read;
  c->retries = 0;
  c->cancelled = false;
  c->handle = file_.open_handle()->number;
  c->data = r.at;
  const std::uint64_t wanted = direct_ ? round_up(bytes_to_request()) : bytes_to_request();
  const std::uint64_t room = direct_ ? round_down(r.size) : r.size;
  c->size = static_cast<std::size_t>(std::min(room, wanted));
  c->offset = file_.status().is_stream ? at_stream_position : next_offset_;
  return c;
}

// Hands a chunk to the backend, which then holds a reference to it.
void read_ahead::submit(chunk& c) noexcept {
  c.run_ = [](work_item& item) noexcept {
    auto& self = static_cast<chunk&>(static_cast<file_request&>(item));
    if (self.resubmit(self.file_->backend)) return;
    // The chunk may be gone after drop_reference(), and the scheduler may end after remove_hold().
    scheduler& sched = *self.completion_scheduler;
    self.file_.reset();
    self.end();
    self.drop_reference();  // the last access
    sched.remove_hold();
  };
  c.completion_scheduler = scheduler::current();
  c.completion_scheduler
      ->add_hold();  // also after the reader is destroyed: the read has to complete
  c.begin();
  next_offset_ += bytes_in_file(c);
  c.add_reference();
  c.file_ = file_.open_handle();
  c.file_->backend.submit(c);
}

// Drops all reads, so that the next advance() reads the file again from the offset of the failed
// read: the error may have been transient. A stream continues with its next byte.
void read_ahead::restart_from(std::uint64_t offset) noexcept {
  cancel_reads();
  if (offset != at_stream_position) next_offset_ = offset;
}

// Takes the result of a chunk's read and requests the rest if it was short.
task<std::size_t> read_ahead::complete(chunk& c, std::source_location where) {
  const bool refused = c.result == -EINVAL && requested_direct_;
  if (c.result < 0 && !refused) {
    const std::exception_ptr error =
        file_error(c.result, file_.path(), "cannot read" + offset_text(c.offset));
    restart_from(c.offset);
    std::rethrow_exception(error);
  }
  // Chunks that were in flight at the first refusal are refused too, and are read below.
  if (refused && direct_) {
    const file_handle& open = *file_.open_handle();
    static_cast<void>(open.backend.set_direct(open.number, false));
    direct_ = false;
  }
  const std::size_t wanted = bytes_in_file(c);
  std::size_t got = refused ? 0 : std::min(static_cast<std::size_t>(c.result), wanted);
  if (got < wanted && (got > 0 || refused) && c.offset != at_stream_position) {
    const buffered_io_scope rest(*this);
    got += co_await file_.read_at(c.offset + got, {c.data + got, wanted - got}, where);
  }
  co_return got;
}

// After a seek() into the middle of a unit: moves the requested bytes to the front of the chunk.
std::size_t read_ahead::drop_leading_bytes(chunk& c, std::size_t got) noexcept {
  const std::size_t count = std::min(std::exchange(bytes_to_drop_, 0), got);
  if (count > 0) std::memmove(c.data, c.data + count, got - count);
  return got - count;
}

// The file ended within a chunk. A file with a size has become shorter, so later bytes do not
// continue it. A file without a size may grow from here.
void read_ahead::end_early(std::size_t got, const chunk& c) noexcept {
  cancel_reads();
  if (has_size()) ended_ = true;
  if (c.offset != at_stream_position) next_offset_ = c.offset + got;
}

// Ensures that the next chunk of the file is the first one and is read. Adds no chunk if no bytes
// are left to request.
task<void> read_ahead::fetch(stream_window::request d, std::source_location where) {
  if (under_way_.empty()) {
    if (bytes_to_request() == 0) co_return;
    // Adds the chunk first, since that may run out of memory, then reads.
    chunk& c = *under_way_.emplace_back(prepare_chunk(d));
    file_handle& open = *file_.open_handle();
    // With direct I/O every read has to wait.
    if (!direct_ && open.backend.try_complete(c) && c.result > 0) {
      open.was_read_from_cache = true;
      next_offset_ += bytes_in_file(c);
      co_return;
    }
    submit(c);
  }
  while (under_way_.size() < depth_ && bytes_to_request() > 0) {
    submit(*under_way_.emplace_back(prepare_chunk({})));
  }
  chunk& next = *under_way_.front();
  co_await read_wait(next, file_.path(), next.offset, where);
}

task<bool> read_ahead::advance(std::size_t carried, std::uint64_t needed,
                               std::source_location where) {
  const exclusive_use::guard guard(in_use_);
  const file_handle::operation_guard file_in_use(file_.open_handle());
  if (this_task::stop_requested()) {
    throw failure(errc::cancelled, file_.path() + ": read");
  }
  const stream_window::request d{.carried = carried, .needed = needed, .certain = has_size()};
  if (!ended_) co_await fetch(d, where);
  if (!under_way_.empty()) {
    // The chunk stays in front until it is in view: neither a stop nor a lack of memory loses it.
    const chunk_reference c = under_way_.front();
    const std::size_t read = co_await complete(*c, where);
    // Bytes to drop exist only after a seek(), when nothing is carried. Then slide() cannot fail,
    // so that they are not dropped twice.
    const std::size_t got = drop_leading_bytes(*c, read);
    if (got > 0) view_.slide(*pool_, {c, c->data, c->size}, d, got);
    under_way_.pop_front();
    if (read < bytes_in_file(*c)) end_early(read, *c);
    if (got > 0) co_return true;
  }
  ended_ = true;
  if (view_.end() < file_.status().size) {
    throw failure(errc::data_loss, file_.path() + ": file became shorter while it was read: " +
                                       std::to_string(file_.status().size) +
                                       " bytes when it was opened, end at offset " +
                                       std::to_string(view_.end()));
  }
  view_.shrink(carried);
  co_return false;
}

task<std::size_t> read_ahead::read_out_of_band(std::uint64_t offset, std::span<std::byte> to,
                                               std::source_location where) {
  const buffered_io_scope beside(*this);
  co_return co_await file_.read_at(offset, to, where);
}

void read_ahead::seek(std::uint64_t offset) noexcept {
  cancel_reads();
  view_.restart(offset);
  next_offset_ = direct_ ? round_down(offset) : offset;
  bytes_to_drop_ = static_cast<std::size_t>(offset - next_offset_);
  ended_ = false;
}

}  // namespace LEAT::detail
