#include "io/file/batched_reads.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/base/internal/assert.hpp"

namespace LEAT::detail {

// A slot is in one of three states:
//
// idle       in idle_; `batch` and `alive` are null
// in flight  its request, an open or a read, is with the backend; counted in under_way_
// held       its file cannot be opened now; counted in held_
//
// A slot that is not idle owns a range of a batch, a reference to this object and a hold on its
// scheduler. So the reads complete, and their files and memory stay, even if the reader is
// destroyed.
//
// Invariant: while a slot is held, another one is in flight. Each completion retries the held
// slots, so none of them waits forever. `batches_` has every batch with ranges that no slot has
// taken yet; a batch without such ranges is kept by its slots.
//
// Everything runs on the scheduler of the files, so there is no lock.

batched_reads::batched_reads(std::shared_ptr<open_file_cache> files, std::size_t depth)
    : files_(std::move(files)), slots_(depth) {
  idle_.reserve(depth);
  for (slot& s : slots_) {
    s.owner = this;
    s.run_ = [](work_item& item) noexcept {
      auto& self = static_cast<slot&>(static_cast<file_request&>(item));
      self.owner->complete(self);
    };
    idle_.push_back(&s);
  }
}

void batched_reads::check_home() const noexcept {
  LEAT_ASSERT(files_->handles().front()->is_at_home(),
              "file used on another scheduler: use it on the scheduler that opened it");
}

void batched_reads::add(std::shared_ptr<range_batch> batch) {
  range_batch& b = *batch;
  batches_.push_back(std::move(batch));
  b.begin();
  start_reads();
}

void batched_reads::start_reads() noexcept {
  while (!idle_.empty() && !batches_.empty()) {
    const std::shared_ptr<range_batch>& batch = batches_.front();
    if (!batch->may_begin()) {
      batches_.pop_front();
      continue;
    }
    slot& s = *idle_.back();
    idle_.pop_back();
    s.alive = shared_from_this();
    s.batch = batch;
    s.range = batch->next++;
    ++batch->reading;
    s.completion_scheduler = scheduler::current();
    s.cancelled = false;
    s.completion_scheduler->add_hold();  // also if no task waits for it any more
    begin(s);
  }
}

// Reads the range, or opens its file. Slots that are held back are retried when others complete. If
// none is in progress, one file more than the limit is opened.
void batched_reads::begin(slot& s) noexcept {
  const file_range& p = range_of(s);
  files_->enforce_limit();
  if (files_->is_open(p.file)) {
    // Until the whole range is read, so that the descriptor in the request stays valid.
    files_->pin(p.file);
    s.what = file_request::operation::read;
    s.handle = p.from->number;
    s.data = p.to;
    s.size = p.size;
    s.offset = p.offset;
  } else if (!files_->is_opening(p.file) && (files_->free_slot() || under_way_ == 0)) {
    files_->begin_open(p.file, s);
  } else {
    hold(s);
    return;
  }
  submit(s);
}

void batched_reads::hold(slot& s) noexcept {
  s.held = true;
  ++held_;
}

void batched_reads::retry_held() noexcept {
  if (held_ == 0) return;
  for (slot& s : slots_) {
    if (!std::exchange(s.held, false)) continue;
    --held_;
    if (s.batch->result.error != 0) {
      release(s, -ECANCELED);
    } else {
      begin(s);
    }
  }
}

void batched_reads::submit(slot& s) noexcept {
  s.retries = 0;
  s.result = 0;
  ++under_way_;
  range_of(s).from->backend.submit(s);
}

void batched_reads::complete(slot& s) noexcept {
  if (s.resubmit(range_of(s).from->backend)) return;
  --under_way_;
  if (s.what == file_request::operation::open) {
    finish_open(s);
    return;
  }
  if (s.result > 0 && static_cast<std::size_t>(s.result) < s.size && !s.cancelled) {
    const auto got = static_cast<std::size_t>(s.result);  // the rest of it
    s.data += got;
    s.size -= got;
    s.offset += got;
    submit(s);
    return;
  }
  files_->unpin(range_of(s).file);
  finish(s, s.result == 0 ? -ENODATA : std::min<std::int64_t>(s.result, 0));
}

void batched_reads::finish_open(slot& s) noexcept {
  // Even if the batch has failed: another batch may use the open file.
  const std::int64_t error = files_->end_open(range_of(s).file, s.result);
  if (s.batch->result.error != 0) {
    finish(s, -ECANCELED);
  } else if (error == 0) {
    begin(s);
    retry_held();
  } else if (is_short_of_descriptors(error) && files_->close_one()) {
    begin(s);
  } else if (is_short_of_descriptors(error) && under_way_ > 0) {
    hold(s);
  } else {
    finish(s, error);
  }
}

void batched_reads::finish(slot& s, std::int64_t error) noexcept {
  // release() drops the reference of the slot, which may be the last one.
  const std::shared_ptr<batched_reads> alive = s.alive;
  release(s, error);
  retry_held();
  start_reads();
}

void batched_reads::release(slot& s, std::int64_t error) noexcept {
  if (error != 0) s.batch->fail(s.range, error);
  scheduler& here = *s.completion_scheduler;
  const std::shared_ptr<batched_reads> alive = std::move(s.alive);
  std::shared_ptr<range_batch> batch = std::move(s.batch);
  idle_.push_back(&s);
  --batch->reading;
  if (batch->is_complete()) batch->end();
  batch.reset();
  // Last, because the scheduler may end when no hold is left.
  here.remove_hold();
}

void batched_reads::cancel_all() noexcept {
  // Reads end soon and then release their slots. An open is not cancelled: finish_open() sees the
  // error of the batch.
  batches_.clear();
  for (slot& s : slots_) {
    if (s.batch) s.batch->fail(s.range, -ECANCELED);
  }
  for (slot& s : slots_) {
    if (!s.batch) continue;
    if (std::exchange(s.held, false)) {
      --held_;
      release(s, -ECANCELED);
    } else if (s.what == file_request::operation::read) {
      range_of(s).from->backend.cancel(s);
    }
  }
}

}  // namespace LEAT::detail
