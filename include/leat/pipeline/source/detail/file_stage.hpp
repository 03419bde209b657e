#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/async/internal/yield_turn.hpp"
#include "leat/base/random.hpp"
#include "leat/io/index/internal/epoch_limits.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/pipeline/source/detail/file_order.hpp"
#include "leat/pipeline/source/detail/files_state.hpp"
#include "leat/pipeline/source/detail/position_reader.hpp"
#include "leat/pipeline/source/detail/source_files.hpp"
#include "leat/pipeline/source/file_source.hpp"
#include "leat/pipeline/stage/detail/replay_log.hpp"
#include "leat/pipeline/stage/detail/stage.hpp"

namespace LEAT::detail {

/// Reads the records of files, and interleaves several files; see file_source.
template <class Reader>
class file_stage final : public stage<typename Reader::batch_type> {
 public:
  using batch = typename Reader::batch_type;
  using sink = typename stage<batch>::sink;

  file_stage(stage_metrics& metrics, file_source<Reader> source)
      : stage<batch>(metrics),
        source_(std::move(source)),
        initial_(source_.shuffle ? seed_or_random(source_.seed) : 0),
        random_(initial_),
        open_(source_, metrics) {}

  void start(pipeline_context& context) override {
    if (has_tasks()) {
      open_.start(context, source_.readers);
    } else {
      this->metrics().add_task();
    }
  }
  bool has_tasks() const noexcept override { return source_.readers > 0; }

  task<bool> next(batch& block) override {
    std::optional<stage_work_timer> here;  // otherwise the tasks measure it
    if (!has_tasks()) here.emplace(this->metrics(), *scheduler::current());
    begin_block();
    block.clear();
    while (block.empty()) {
      if (closed_ == open_.size()) {
        const bool more = co_await begin_epoch();
        if (!more) co_return false;
      }
      if (!open_[turn_].ended) co_await take(open_[turn_], block, SIZE_MAX);
      if (origins_enabled_) replay_log_.last().file = open_[turn_].file;
      if (block.empty() || left_ == 0) pass_on();
      if (to_drop_ > 0) drop_front(block);
      if (block.empty() && at_round()) restart_block_log();
    }
    delivered_ += block.size();
    std::size_t bytes = 0;
    for (const auto& record : block) bytes += record.size();
    if (origins_enabled_) note(block);
    this->metrics().add(block.size(), bytes);
    co_return true;
  }

  std::string save_error() const override {
    return descriptor_save_error(source_.files, this->metrics().name());
  }
  saved_stage describe() const override {
    saved_stage s{.kind = std::string(Reader::name),
                  .name = this->metrics().name(),
                  .settings = {{"shuffle", source_.shuffle},
                               {"interleave", source_.interleave},
                               {"block", source_.block_length},
                               {rank_setting, source_.world.rank, true},
                               {world_size_setting, source_.world.world_size, true}},
                  .own = file_stage_state().write(),
                  .make = &make_state<file_stage_state>};
    Reader::for_each_setting(source_.reader, [&s](const char* name, std::uint64_t value) {
      s.settings.push_back({name, value});
    });
    return s;
  }
  block_position save(block_position before, batch_numbers&, std::string& own) const override {
    const log_entry* const at = replay_log_.find(before.block);
    const auto from = at ? at->round : present_round();
    file_stage_state s;
    s.at = from->state;
    if (from->assigned) s.at.assigned = *from->assigned;
    s.at.records = (at ? at->given : delivered_in_round() + to_drop_) + before.element;
    s.at.files = open_.files().versions();
    own = s.write();
    return before;
  }
  void forget(std::uint64_t block) noexcept override { replay_log_.forget(block); }

  task<void> restore(stage_state& state) override {
    const auto& s = static_cast<const file_stage_state&>(state);
    if (s.of_ranks.empty()) co_return co_await restore_from(s.at);
    co_await redistribute_files(s.of_ranks);
  }
  void rewind() noexcept override {
    random_ = initial_;
    open_.forget();
    leave();
  }

  bool enable_origins() override {
    origins_enabled_ = true;
    return true;
  }
  void take_origins(std::uint64_t block, std::vector<origin>& all) override {
    replay_log_.take_origins(block, all);
  }
  task<void> replay(std::span<const origin> records, sink to) override {
    while (!records.empty()) {
      const std::uint32_t file = records.front().file;
      std::size_t count = 1;
      while (count < records.size() && records[count].file == file) ++count;
      open_.require(file);
      const std::string& path = open_.files().path(file);
      position_reader<Reader> reader(path, source_.reader, records.first(count));
      co_await reader.read(to);
      records = records.subspan(count);
    }
  }

 private:
  using open_file = typename source_files<Reader>::one;

  struct round_start {
    files_state state;
    std::shared_ptr<const assigned_files> assigned;
  };
  // The position of the stage at the beginning of a block, and the origins of its elements.
  struct log_entry {
    std::shared_ptr<const round_start> round;
    std::uint64_t given = 0;  // records delivered since then
    std::size_t file = 0;
    std::vector<origin> origins = {};
  };

  task<void> find() {
    constexpr bool is_tfrecord = std::is_same_v<Reader, tfrecord_reader>;
    constexpr auto find_all = is_tfrecord ? find_tfrecord_files : find_files;
    std::vector<std::string> paths = co_await find_all(source_.files, this->metrics().name());
    require_files_for(source_.world.world_size, paths.size(), this->metrics().name());
    open_.found(std::move(paths));
  }

  task<bool> begin_epoch() {
    if (epoch_ == 0) co_await find();
    if (epoch_ == source_.num_epochs || is_exhausted()) {
      if (to_drop_ > 0)
        throw_state_error(this->metrics().name(), "its position is after the last epoch");
      co_return false;
    }
    // A position ends in the epoch after the one in which it began, among epochs that have records.
    if (to_drop_ > 0 && to_drop_ < to_drop_of_epoch_) {
      throw_state_error(this->metrics().name(), "it has read more records than an epoch contains");
    }
    to_drop_of_epoch_ = to_drop_;
    ++epoch_;
    begin_order(world_);
    reset_turns();
    co_return true;
  }

  void begin_order(world_rank world) {
    order_.begin(random_, source_.shuffle, epoch_, open_.files().size(), world);
  }
  void reset_turns() noexcept {
    turn_ = closed_ = 0;
    left_ = source_.block_length;
    for (open_file& f : open_) f.ended = false;
  }

  // Without records the files would be read again without end: true if all files that can belong to
  // this rank are empty.
  [[nodiscard]] bool is_exhausted() const {
    if (epoch_ == 0) return false;
    const bool has_files_of_others =
        order_.is_assigned() || (source_.shuffle && world_.world_size > 1);
    return has_files_of_others ? open_.all_are_empty() : open_.are_empty(order_.files());
  }

  // Takes some records of a file, or of the next one; none if no file is left.
  task<void> take(open_file& f, batch& block, std::size_t most) {
    while (f.taken == f.read.size()) {
      if (!f.is_open() && order_.at_end()) {
        f.ended = true;
        ++closed_;
        co_return;
      }
      if (!f.is_open()) co_await open_.open_next(f, order_);
      f.taken = 0;
      co_await open_.read(f);
    }
    if (open_.size() == 1 && f.taken == 0 && f.read.size() <= most) {
      std::swap(block, f.read);
      f.read.clear();
    } else {
      const std::size_t count = std::min({left_, f.read.size() - f.taken, most});
      block = f.read.slice(f.taken, count);
      f.taken += count;
      left_ -= count;
    }
  }

  // Passes the turn to the next file.
  void pass_on() noexcept {
    turn_ = (turn_ + 1) % open_.size();
    left_ = source_.block_length;
  }

  // ---- Its position.

  [[nodiscard]] bool at_round() const noexcept {
    return turn_ == 0 && left_ == source_.block_length;
  }
  [[nodiscard]] std::uint64_t delivered_in_round() const noexcept {
    return at_round() ? 0 : delivered_;
  }

  // The position before a round of turns.
  [[nodiscard]] std::shared_ptr<const round_start> present_round() const {
    if (!at_round()) return round_;
    files_state s{
        .seed = random_.seed(), .epoch = epoch_, .next_file = order_.taken(), .closed = closed_};
    for (const open_file& f : open_) s.positions.push_back(open_.position_of(f));
    return std::make_shared<const round_start>(round_start{std::move(s), order_.assigned()});
  }

  void begin_block() {
    if (at_round()) {
      round_ = present_round();
      delivered_ = 0;
    }
    replay_log_.begin({round_, delivered_ + to_drop_});
  }

  // The last turns of a round delivered nothing: the block begins in the next round.
  void restart_block_log() {
    round_ = present_round();
    delivered_ = 0;
    replay_log_.last().round = round_;
    replay_log_.last().given = to_drop_;
  }

  void drop_front(batch& block) {
    const std::uint64_t count = std::min<std::uint64_t>(to_drop_, block.size());
    block.drop_front(static_cast<std::size_t>(count));
    to_drop_ -= count;
    delivered_ += count;
  }

  void note(const batch& block) {
    std::vector<origin>& all = replay_log_.last().origins;
    const auto file = static_cast<std::uint32_t>(replay_log_.last().file);
    all.reserve(block.size());
    for (std::size_t i = 0; i < block.size(); ++i) {
      const record_position at = block.position(i);
      all.push_back({file, at.offset, at.index, 0});
    }
  }

  // Moves to the position before the first record of the first epoch.
  void leave() noexcept {
    open_.close();
    closed_ = open_.size();
    epoch_ = to_drop_ = to_drop_of_epoch_ = delivered_ = turn_ = 0;
    left_ = source_.block_length;
    world_ = source_.world;
    order_.clear();
  }

  task<void> restore_from(const files_state& s) {
    const std::string& name = this->metrics().name();
    if (source_.shuffle) require_seed(name, source_.seed, s.seed);
    if (source_.num_epochs && s.epoch > *source_.num_epochs) {
      throw_state_error(name, "it is in epoch " + std::to_string(s.epoch) + ", but num_epochs is " +
                                  std::to_string(*source_.num_epochs));
    }
    if (s.epoch > max_epochs) {
      throw_state_error(name, "epoch " + std::to_string(s.epoch) +
                                  " is greater than the maximum of " + std::to_string(max_epochs));
    }
    random_ = random_engine(s.seed);
    to_drop_ = s.records;
    if (!s.files.empty() || s.epoch > 0) {
      if (open_.files().size() == 0) co_await find();
      co_await open_.files().require(s.files, name);
    }
    if (s.epoch > 0) co_await restore_turns(s);
  }

  task<void> restore_turns(const files_state& s) {
    const std::string& name = this->metrics().name();
    epoch_ = s.epoch;
    if (s.assigned) {
      order_.begin_assigned(*s.assigned, open_.files().size(), name);
    } else {
      begin_order(world_);
    }
    closed_ = static_cast<std::size_t>(s.closed);
    if (s.positions.size() != open_.size() || s.next_file > order_.files().size() ||
        !has_consistent_positions(s)) {
      throw_state_error(name, "its positions do not match the files");
    }
    order_.go_to(static_cast<std::size_t>(s.next_file));
    for (std::size_t i = 0; i < open_.size(); ++i) {
      const file_position& p = s.positions[i];
      open_[i].ended = p.ended;
      if (!p.open) continue;
      open_.require(p.file);
      co_await open_.open(open_[i], p);
    }
  }

  // The remaining files of all ranks, with epochs that some had not begun, become one epoch, which
  // is redistributed.
  task<void> redistribute_files(const std::vector<files_state>& rank_files) {
    std::vector<assigned_files> left(rank_files.size());
    std::vector<std::uint64_t> epochs;
    std::uint64_t last = 0;
    for (std::size_t i = 0; i < rank_files.size(); ++i) {
      leave();
      world_ = {i, rank_files.size()};
      co_await restore_from(rank_files[i]);
      co_await drop();
      left[i] = left_of_epoch();
      epochs.push_back(epoch_);
      last = std::max(last, epoch_);
    }
    for (std::size_t i = 0; i < rank_files.size(); ++i) {
      const std::string why = epoch_gap_error(i, rank_files.size(), last - epochs[i]);
      if (!why.empty()) throw_state_error(this->metrics().name(), why);
      for (epoch_ = epochs[i] + 1; epoch_ <= last; ++epoch_) {
        begin_order({i, rank_files.size()});
        order_.add_left(left[i]);
      }
    }
    leave();
    if (last == 0) co_return;
    epoch_ = last;
    order_.begin_assigned(assign_share(left, world_), open_.files().size(), this->metrics().name());
    reset_turns();
  }

  // Reads the records that the next stage has already received.
  task<void> drop() {
    batch block;
    while (to_drop_ > 0) {
      if (closed_ == open_.size()) (void)co_await begin_epoch();
      block.clear();
      if (!open_[turn_].ended) co_await take(open_[turn_], block, to_drop_);
      to_drop_ -= block.size();
      if (block.empty() || left_ == 0) pass_on();
      co_await yield_turn("pipeline");
    }
  }

  [[nodiscard]] assigned_files left_of_epoch() const {
    assigned_files left;
    for (const open_file& f : open_) {
      if (f.is_open()) left.begun.push_back(open_.position_of(f));
    }
    order_.add_left(left);
    return left;
  }

  const file_source<Reader> source_;
  const random_engine initial_;
  random_engine random_;
  world_rank world_ = source_.world;  // that of another rank while its state is read
  file_order order_;                  // of the current epoch
  std::uint64_t epoch_ = 0;           // epochs that have begun
  source_files<Reader> open_;
  std::size_t closed_ = open_.size();        // how many of these have ended
  std::size_t turn_ = 0;                     // index of the file whose turn it is
  std::size_t left_ = source_.block_length;  // records left in this turn

  std::shared_ptr<const round_start> round_;  // the position before the current round
  std::uint64_t delivered_ = 0;               // records delivered since then
  std::uint64_t to_drop_ = 0;                 // records that the next stage has already received
  std::uint64_t to_drop_of_epoch_ = 0;        // at the start of the epoch; 0 if none
  replay_log<log_entry> replay_log_;
  bool origins_enabled_ = false;
};

}  // namespace LEAT::detail
