#include "leat/io/reader/file_prefetcher.hpp"

#include <utility>

#include "io/reader/prefetched_file.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/io/backend/get_file_backend.hpp"

namespace LEAT {

file_prefetcher::file_prefetcher(source paths, const file_prefetcher_options& options)
    : source_(std::move(paths)), shared_(std::make_shared<shared>(options)) {}

file_prefetcher::file_prefetcher(const file_prefetcher_options& options)
    : file_prefetcher(source(), options) {}

file_prefetcher::file_prefetcher(std::vector<std::string> paths,
                                 const file_prefetcher_options& options)
    : file_prefetcher(
          [all = std::move(paths), index = std::size_t{0}]() mutable -> std::optional<std::string> {
            if (index == all.size()) return std::nullopt;
            // Reading the contents evicts the paths from the CPU caches.
            if (index + 1 < all.size()) __builtin_prefetch(all[index + 1].data());
            if (index + 2 < all.size()) __builtin_prefetch(&all[index + 2]);
            return std::move(all[index++]);
          },
          options) {}

file_prefetcher::~file_prefetcher() {
  // Entries in flight keep themselves and shared_; on_complete() then starts no further step.
  shared_->abandoned = true;
  shared_->held.clear();
  for (const auto& file : files_) file->cancel_read();
}

bool file_prefetcher::has_capacity() const noexcept {
  return files_.empty() || (files_.size() < shared_->options.depth && shared_->under_way > 0);
}

void file_prefetcher::find_backend() {
  scheduler* const here = scheduler::current();
  LEAT_ASSERT(here != nullptr, "file_prefetcher::add() outside a task: call it from a task");
  if (!shared_->backend) shared_->backend = &get_file_backend(*here);
}

void file_prefetcher::append_entry(std::string path) {
  if (shared_->held.capacity() == files_.size()) shared_->held.reserve(2 * files_.size() + 8);
  files_.push_back(std::make_shared<entry>(std::move(path), shared_, *scheduler::current()));
  shared_->first = files_.front().get();
}

void file_prefetcher::add(std::string path) {
  find_backend();
  append_entry(std::move(path));
  shared_->held.push_back(files_.back());
  shared_->retry_held();
}

// Reads the file again whose error was thrown.
void file_prefetcher::restart_first() {
  loaded_file failed;
  auto again = std::make_shared<entry>(files_.front()->name, shared_, *scheduler::current());
  std::exchange(files_.front(), again)->deliver(failed);
  shared_->first = again.get();
  shared_->held.push_back(std::move(again));
  first_has_failed_ = false;
  shared_->retry_held();
}

// A small file in the page cache needs no request if no other file precedes it: returns true with
// the file in `out`. Otherwise the file is added and continues from the point that it has reached.
bool file_prefetcher::read_or_add(std::string path, loaded_file& out) {
  find_backend();
  shared& all = *shared_;
  file_status found;
  file_request r;
  r.what = file_request::operation::open;
  r.flags = detail::prefetch_open_flags;
  r.path = path.c_str();
  r.status = &found;
  file_backend& from = all.backend->backend_for(path);
  const bool others =
      !files_.empty() || all.copied >= detail::max_prefetch_per_turn || all.options.direct;
  if (others || path.find('\0') != std::string::npos || !from.try_complete(r) || r.result < 0) {
    add(std::move(path));
    return false;
  }
  detail::file_handle file(*all.backend, from, static_cast<int>(r.result));
  file.was_read_from_cache = true;
  detail::chunk_reference memory;
  const std::uint64_t most =
      std::min<std::uint64_t>(detail::prefetch_reserved_size, all.options.max_file_size);
  try {
    if (found.size > 0 && found.size <= most) memory = all.pool->take();
  } catch (const std::bad_alloc&) {  // the file reports the error if it still occurs
  }
  if (memory) {
    r.what = file_request::operation::read;
    r.handle = file.number;
    r.data = memory->body();
    r.size = static_cast<std::size_t>(found.size);
    r.offset = 0;
    if (from.try_complete(r) && r.result == static_cast<std::int64_t>(r.size)) {
      all.copied += r.size;
      out.path_ = std::move(path);
      out.contents_ = byte_view(memory->body(), r.size);
      out.keeper_ = std::move(memory);
      return true;
    }
    memory = {};
  }
  append_entry(std::move(path));
  const bool goes_on = files_.back()->resume_opened(std::exchange(file.number, -1), found);
  if (!goes_on) all.held.push_back(files_.back());
  return false;
}

task<bool> file_prefetcher::next(loaded_file& out, std::source_location where) {
  const detail::exclusive_use::guard guard(in_use_);
  out = {};
  if (this_task::stop_requested()) throw failure(errc::cancelled, "file_prefetcher: next");
  if (first_has_failed_) restart_first();
  while (source_ && has_capacity()) {
    std::optional<std::string> path = source_();
    if (!path) {
      source_ = nullptr;
    } else if (read_or_add(std::move(*path), out)) {
      co_return true;
    }
  }
  if (files_.empty()) co_return false;
  co_await detail::read_wait(*files_.front(), files_.front()->name, at_stream_position, where);
  if (files_.front()->error && shared_->options.stop_on_first_error) {
    first_has_failed_ = true;
    std::rethrow_exception(files_.front()->error);
  }
  files_.front()->deliver(out);
  files_.pop_front();
  shared_->first = files_.empty() ? nullptr : files_.front().get();
  if (!shared_->held.empty()) shared_->retry_held();
  co_return true;
}

}  // namespace LEAT
