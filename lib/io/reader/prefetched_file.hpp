#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <fcntl.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/backend/backend_support.hpp"
#include "io/file/open_file_cache.hpp"
#include "leat/base/error.hpp"
#include "leat/io/file/detail/read_wait.hpp"
#include "leat/io/reader/file_prefetcher.hpp"

namespace LEAT {
namespace detail {

inline constexpr std::size_t max_prefetch_depth = 4096;
inline constexpr std::size_t prefetch_reserved_size = std::size_t{128}
                                                      << 10;             // its memory is reserved
inline constexpr std::size_t max_prefetch_piece = std::size_t{1} << 20;  // read in one call
inline constexpr std::size_t max_prefetch_per_turn = std::size_t{256} << 10;
// Unit of direct reads: their offsets, sizes and memory are multiples of it.
inline constexpr std::size_t prefetch_direct_unit = 4096;
inline constexpr int prefetch_open_flags =
    O_RDONLY | O_NONBLOCK;  // blocking costs one more call, see set_blocking()

inline constexpr std::uint64_t round_up_to_direct_unit(std::uint64_t n) noexcept {
  return (n + prefetch_direct_unit - 1) / prefetch_direct_unit * prefetch_direct_unit;
}

}  // namespace detail

// State shared by the files of one prefetcher. Lives until the last of them is finished.
//
// The next file is held back only by files that are in progress, and each of these retries it when
// a request of its own completes. So the prefetcher makes progress however scarce descriptors and
// memory are.
struct file_prefetcher::shared {
  explicit shared(const file_prefetcher_options& o) : options(o) {
    if (o.depth < 1 || o.depth > detail::max_prefetch_depth) {
      throw failure(errc::invalid_argument, "file_prefetcher_options::depth is " +
                                                std::to_string(o.depth) + ", must be 1 to " +
                                                std::to_string(detail::max_prefetch_depth));
    }
    pool = detail::chunk_pool::make(o.depth + 1, 0, detail::prefetch_reserved_size);
  }
  shared(const shared&) = delete;
  shared& operator=(const shared&) = delete;
  ~shared() { pool->close(); }

  [[nodiscard]] detail::chunk_reference take_memory(std::size_t size) const {
    return size <= detail::prefetch_reserved_size ? pool->take() : pool->take_large(0, size);
  }

  // Retries the files that were held back.
  void retry_held() noexcept;

  // Closes the files that wait for memory. Returns true if that has freed descriptors.
  bool postpone_waiting() noexcept;

  const file_prefetcher_options options;
  detail::chunk_pool* pool;
  file_backend* backend = nullptr;
  const entry* first = nullptr;  // next to return
  // Held back for lack of a slot, of descriptors or of memory. Has capacity for all added files.
  std::vector<std::shared_ptr<entry>> held;
  std::size_t begun = 0;         // and not returned yet
  std::size_t open = 0;          // open files, including those that are being closed
  std::uint64_t open_count = 0;  // number of attempts to open a file
  std::size_t under_way = 0;     // requests
  std::uint64_t bytes = 0;       // of files that are started and not returned yet
  std::size_t copied = 0;        // in this call, since other tasks ran
  bool abandoned = false;        // the files were abandoned
};

// One file: opened, read and closed by one request after the other.
//
// An entry is in flight, held back or closed. In flight, a request is with the backend, or the
// entry is posted because it has paused, and `self` keeps it. Held back, it is in `all->held`: as
// `named` for lack of a slot or descriptors, or as `waiting`, with an open file, for lack of
// memory. awaited_read::end() is called once, before the close, so that the file can be returned
// while its close is in flight.
struct file_prefetcher::entry final : file_request,
                                      detail::awaited_read,
                                      std::enable_shared_from_this<entry> {
  entry(std::string p, std::shared_ptr<shared> s, scheduler& here)
      : name(std::move(p)), all(std::move(s)) {
    completion_scheduler = &here;
    awaited_read::begin();
    run_ = [](work_item& item) noexcept {
      static_cast<entry&>(static_cast<file_request&>(item)).on_complete();
    };
  }

  // Advances as far as possible without waiting. Returns false if the file is held back.
  bool advance() noexcept {
    for (;;) {
      step next = step::end;
      try {
        next = prepare();
      } catch (...) {
        error = std::current_exception();
        memory = {};
        next = finish();
      }
      if (next == step::hold) return false;
      if (next == step::end || !issue()) return true;
    }
  }

  // Like advance(), but for a file that is already open. Returns false if the file is held back.
  bool resume_opened(int descriptor, const file_status& s) noexcept {
    begin_open();
    result = descriptor;
    found = s;
    return advance();
  }

  void deliver(loaded_file& out) {
    --all->begun;
    all->bytes -= counted;
    out.path_ = std::move(name);
    out.error_ = error;
    if (error) return;
    out.contents_ = byte_view(memory->body(), got);
    out.keeper_ = std::move(memory);
  }

  // Resets the file to its initial state.
  bool postpone() noexcept {
    if (at != state::waiting) return false;
    file_request close;
    close.what = file_request::operation::close;
    close.handle = std::exchange(file->number, -1);
    file->run_without_scheduler(close);
    memory = {};
    got = 0;
    all->bytes -= std::exchange(counted, 0);
    reset_to_named();
    return true;
  }

  void cancel_read() noexcept {
    if (at == state::reading && self && !paused) file->backend.cancel(*this);
  }

  std::string name;
  std::shared_ptr<shared> all;
  std::exception_ptr error;

 private:
  enum class state { named, opening, waiting, reading, closing, closed };
  enum class step { issue, hold, end };

  // Chooses the next step from the result of the last request.
  step prepare() {
    switch (at) {
      case state::named: return start_open();
      case state::opening: return handle_open();
      case state::waiting: return start_read();
      case state::reading: return handle_read();
      case state::closing:
      case state::closed: break;
    }
    return finish();
  }

  step start_open() {
    if (all->first != this && all->begun >= all->options.depth) return step::hold;
    begin_open();
    detail::check_path(name);
    what = file_request::operation::open;
    file_request::path = name.c_str();
    status = &found;
    retries = 0;
    return step::issue;
  }

  void begin_open() noexcept {
    ++all->begun;
    ++all->open;
    open_number = ++all->open_count;
    was_alone = all->open == 1;
    file.emplace(*all->backend, all->backend->backend_for(name), -1);
    flags = detail::prefetch_open_flags;
    is_blocking = !file->backend.uses_descriptors();
    is_direct = false;
    at = state::opening;
  }

  void reset_to_named() noexcept {
    file.reset();
    --all->open;
    --all->begun;
    at = state::named;
  }

  step handle_open() {
    if (detail::is_short_of_descriptors(result)) {
      const bool is_first = all->first == this;
      const bool others_wait = is_first && all->postpone_waiting();
      if (!is_first || all->open > 1) {  // at another time
        reset_to_named();
        return step::hold;
      }
      // Another file may have been opened and closed while this request was in flight.
      if (others_wait || !was_alone || open_number != all->open_count) {
        reset_to_named();
        return start_open();
      }
    }
    if (result < 0) detail::throw_file_error(result, name, "cannot open");
    file->number = static_cast<int>(result);
    if (found.is_directory) detail::throw_file_error(-EISDIR, name, "cannot read");
    if (found.is_stream) {
      throw failure(errc::failed_precondition,
                    name + ": pipe or device cannot be prefetched: use whole_file_reader");
    }
    check_size(found.size);
    if (all->options.direct && found.size > 0) {
      if (!is_blocking) is_blocking = detail::set_blocking(file->number, flags);
      is_direct =
          file->backend.capabilities().direct && file->backend.set_direct(file->number, true) == 0;
    }
    return start_read();
  }

  // Reads the rest of the file through the page cache.
  void end_direct() noexcept {
    static_cast<void>(file->backend.set_direct(file->number, false));
    is_direct = false;
  }

  step handle_read() {
    if (is_direct && result == -EINVAL) {  // some file systems refuse it only now
      end_direct();
      return start_read();
    }
    if (result < 0) {
      detail::throw_file_error(result, name, "cannot read" + detail::offset_text(offset));
    }
    // The last unit of a direct read may return more bytes if the file has grown.
    const std::size_t came = static_cast<std::size_t>(result);
    got += found.size > 0 ? std::min<std::size_t>(came, found.size - got) : came;
    if (is_direct && got % detail::prefetch_direct_unit != 0 && got < found.size) end_direct();
    if (found.size > 0 && result == 0) {
      throw failure(errc::data_loss,
                    name +
                        ": file became shorter while it was read: " + std::to_string(found.size) +
                        " bytes when it was opened, end at offset " + std::to_string(got));
    }
    if (result == 0 || got == found.size) return finish();
    return start_read();
  }

  step start_read() {
    if ((!memory || got == memory->body_size()) && !allocate_memory()) {
      at = state::waiting;
      return step::hold;
    }
    const std::size_t end =
        found.size > 0 ? static_cast<std::size_t>(found.size) : memory->body_size();
    what = file_request::operation::read;
    handle = file->number;
    data = memory->body() + got;
    size = std::min(end - got, detail::max_prefetch_piece);
    if (is_direct) size = detail::round_up_to_direct_unit(size);
    offset = got;
    retries = 0;
    at = state::reading;
    return step::issue;
  }

  // A file of size 0 may not report its size: its memory is doubled each time that it is full.
  bool allocate_memory() {
    const std::uint64_t needed =
        found.size > 0 ? (is_direct ? detail::round_up_to_direct_unit(found.size) : found.size)
                       : std::max<std::uint64_t>(detail::prefetch_reserved_size, 2 * got);
    const std::uint64_t more = needed - counted;
    if (got > 0) check_size(got + 1);
    if (all->first != this && all->bytes + more > all->options.max_bytes_ahead) return false;
    detail::chunk_reference larger = all->take_memory(static_cast<std::size_t>(needed));
    if (memory) std::copy_n(memory->body(), got, larger->body());
    memory = std::move(larger);
    counted = needed;
    all->bytes += more;
    return true;
  }

  void check_size(std::uint64_t bytes) const {
    if (bytes <= all->options.max_file_size) return;
    throw failure(errc::resource_exhausted, name + ": " + std::to_string(bytes) +
                                                " bytes are above the limit max_file_size of " +
                                                std::to_string(all->options.max_file_size));
  }

  // The file can be returned; only its close is left.
  step finish() noexcept {
    if (at == state::closed) return step::end;
    if (at != state::closing) awaited_read::end();
    if (file->number >= 0 && !file->was_read_from_cache) {
      what = file_request::operation::close;
      handle = std::exchange(file->number, -1);
      at = state::closing;
      return step::issue;
    }
    file.reset();
    --all->open;
    at = state::closed;
    return step::end;
  }

  // Returns true if the result is available.
  bool issue() noexcept {
    if (!(is_direct && what == file_request::operation::read) &&
        file->backend.try_complete(*this)) {
      if (what != file_request::operation::read) return true;
      file->was_read_from_cache = true;
      all->copied += static_cast<std::size_t>(result);
      if (all->copied < detail::max_prefetch_per_turn) return true;
      all->copied = 0;
      paused = true;
    }
    if (what == file_request::operation::read && !paused && !is_blocking) {
      is_blocking = detail::set_blocking(handle, flags);
      if (!is_blocking) {
        result = -errno;
        return true;
      }
    }
    self = shared_from_this();
    completion_scheduler->add_hold();  // also if the file was abandoned: it has to be closed
    if (paused) {
      completion_scheduler->post(*this);
    } else {
      ++all->under_way;
      file->backend.submit(*this);
    }
    return false;
  }

  void on_complete() noexcept {
    if (resubmit(file->backend)) return;
    std::shared_ptr<entry> alive = std::move(self);
    scheduler& here = *completion_scheduler;
    if (!std::exchange(paused, false)) --all->under_way;
    if (!all->abandoned) {
      if (!advance()) all->held.push_back(alive);
      all->retry_held();
    } else if (at == state::opening && result >= 0) {
      file->number = static_cast<int>(result);  // to be closed by its destructor
    }
    alive.reset();
    here.remove_hold();
  }

  state at = state::named;
  file_status found;
  std::optional<detail::file_handle> file;
  detail::chunk_reference memory;
  std::size_t got = 0;
  std::uint64_t counted = 0;      // of all->bytes
  std::shared_ptr<entry> self;    // while a request is in flight
  bool is_blocking = false;       // the open file
  bool is_direct = false;         // its reads are direct
  bool was_alone = false;         // no other file was open when this one should be opened
  std::uint64_t open_number = 0;  // of all->open_count
  bool paused = false;            // the result is available, but other tasks run first
};

inline void file_prefetcher::shared::retry_held() noexcept {
  std::erase_if(held, [](const std::shared_ptr<entry>& e) noexcept { return e->advance(); });
}

// May be called during retry_held(): then some elements of `held` are null.
inline bool file_prefetcher::shared::postpone_waiting() noexcept {
  bool any = false;
  for (const std::shared_ptr<entry>& e : held) any = (e && e->postpone()) || any;
  return any;
}

}  // namespace LEAT
