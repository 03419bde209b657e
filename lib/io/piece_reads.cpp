#include "io/piece_reads.hpp"

#include <cerrno>
#include <utility>

#include "leat/core/assert.hpp"
#include "leat/core/scheduler.hpp"

namespace leat::detail {

piece_reads::piece_reads(std::vector<std::shared_ptr<file_handle>> files, std::size_t depth)
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

void piece_reads::check_home() const noexcept {
  LEAT_ASSERT(files_.front()->is_at_home(),
              "a file is used on another scheduler than the one on which it was opened");
}

void piece_reads::add(std::shared_ptr<piece_batch> batch) {
  piece_batch& b = *batch;
  batches_.push_back(std::move(batch));
  b.begin();
  go_on();
}

void piece_reads::go_on() noexcept {
  while (!idle_.empty() && !batches_.empty()) {
    const std::shared_ptr<piece_batch>& batch = batches_.front();
    if (!batch->may_begin()) {
      batches_.pop_front();
      continue;
    }
    slot& s = *idle_.back();
    idle_.pop_back();
    s.alive = shared_from_this();
    s.batch = batch;
    s.piece = batch->next++;
    ++batch->reading;
    const file_piece& p = batch->pieces[s.piece];
    s.home = scheduler::current();
    s.handle = p.from->number;
    s.data = p.to;
    s.size = p.size;
    s.offset = p.offset;
    s.cancelled = false;
    s.home->work_started();  // also when nobody waits for it any more
    submit(s);
  }
}

void piece_reads::submit(slot& s) noexcept {
  s.retries = 0;
  s.result = 0;
  s.batch->pieces[s.piece].from->backend.submit(s);
}

void piece_reads::complete(slot& s) noexcept {
  if (s.submit_again(s.batch->pieces[s.piece].from->backend)) return;
  if (s.result > 0 && static_cast<std::size_t>(s.result) < s.size && !s.cancelled) {
    const auto got = static_cast<std::size_t>(s.result);  // the rest of it
    s.data += got;
    s.size -= got;
    s.offset += got;
    submit(s);
    return;
  }
  if (s.result <= 0) s.batch->fail(s.piece, s.result == 0 ? -ENODATA : s.result);
  scheduler& here = *s.home;
  std::shared_ptr<piece_reads> alive = std::move(s.alive);
  std::shared_ptr<piece_batch> batch = std::move(s.batch);
  idle_.push_back(&s);
  --batch->reading;
  if (batch->settled()) batch->end();
  go_on();
  batch.reset();
  alive.reset();
  here.work_finished();
}

void piece_reads::let_go() noexcept {
  batches_.clear();
  for (slot& s : slots_) {
    if (!s.batch) continue;
    s.batch->fail(s.piece, -ECANCELED);
    s.batch->pieces[s.piece].from->backend.cancel(s);
  }
}

}  // namespace leat::detail
