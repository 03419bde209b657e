#include "leat/pipeline/read_indexed.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "leat/async/internal/yield_turn.hpp"
#include "leat/base/random.hpp"
#include "leat/pipeline/source/detail/indexed_state.hpp"
#include "leat/pipeline/stage/detail/replay_log.hpp"

namespace LEAT {
namespace {

using detail::indexed_state;
using detail::origin;

// The source of read_indexed(). A position is a state of the indexed_reader. The log keeps the
// state before each block; a position within a block is computed from it, one step of the order for
// each record. Only if corrupt records were skipped in a block does its entry list the position
// after each record, since the steps are then unknown.
//
// A record is replayed by its file and its index there, without the order of the epoch.
class indexed_stage final : public detail::stage<record_selection> {
 public:
  indexed_stage(stage_metrics& metrics, std::vector<std::string> files,
                indexed_reader_options options)
      : stage(metrics),
        files_(std::move(files)),
        options_(std::move(options)),
        initial_seed_(options_.shuffle ? seed_or_random(options_.seed) : options_.seed.value_or(0)),
        seed_(initial_seed_) {}

  task<bool> next(record_selection& block) override {
    const stage_work_timer here = working();
    if (!reader_) co_await open();
    replay_log_.begin({reader_->state()});
    const std::uint64_t left_out = reader_->statistics().reports;
    const bool more = co_await reader_->read_batch(block);
    log_entry& at = replay_log_.last();
    at.epoch = reader_->epoch();
    if (reader_->statistics().reports != left_out)
      at.positions_after = find_positions_after(block, at);
    std::size_t bytes = 0;
    for (const byte_view record : block) bytes += record.size();
    if (origins_enabled_) note(block);
    metrics().add(block.size(), bytes);
    co_return more;
  }

  std::string save_error() const override { return {}; }
  detail::saved_stage describe() const override {
    detail::saved_stage s{
        .kind = "read_indexed",
        .name = metrics().name(),
        .settings = {{"shard.last", static_cast<std::uint64_t>(options_.shard.remainder)},
                     {"checks", static_cast<std::uint64_t>(options_.file.checks)},
                     {"max_record_size", options_.file.max_record_size}},
        .own = state_of({}).write(),
        .make = &detail::make_state<indexed_state>};
    detail::add_corruption_settings(
        options_.corruption,
        [&s](const char* name, std::uint64_t value) { s.settings.push_back({name, value}); });
    return s;
  }
  detail::block_position save(detail::block_position before, detail::batch_numbers&,
                              std::string& own) const override {
    own = state_of(reader_ ? position_before(before).to_bytes() : std::string()).write();
    return before;
  }
  void forget(std::uint64_t block) noexcept override { replay_log_.forget(block); }
  task<void> restore(detail::stage_state& state) override {
    const auto& s = static_cast<const indexed_state&>(state);
    if (s.seed) {
      detail::require_seed(metrics().name(), options_.seed, *s.seed);
      seed_ = *s.seed;
    }
    const bool has_rank_readers = !s.readers.empty();
    if (!has_rank_readers && s.reader.empty()) co_return;
    for (const std::string& reader : has_rank_readers ? s.readers : std::vector{s.reader}) {
      require_epoch(indexed_reader_state::from_bytes(reader, metrics().name()));
    }
    co_await open();
    try {
      if (has_rank_readers) {
        reader_->restore_ranks(s.readers);
      } else {
        reader_->restore_state(s.reader);
      }
    } catch (const failure&) {
      throw_changed_file(s.versions);
      throw;
    }
  }
  void rewind() noexcept override {
    reader_.reset();
    seed_ = initial_seed_;
  }

  bool enable_origins() override {
    origins_enabled_ = true;
    return true;
  }
  void take_origins(std::uint64_t block, std::vector<origin>& all) override {
    replay_log_.take_origins(block, all);
  }
  task<void> replay(std::span<const origin> records, sink to) override {
    constexpr std::size_t most = 1024;  // records in memory; and bytes, except for a single record
    const std::uint64_t most_bytes = std::min(options_.max_bytes, options_.file.max_selection_size);
    record_selection block;
    std::vector<std::uint64_t> indices;
    for (std::size_t count = 0; !records.empty(); records = records.subspan(count)) {
      const std::uint32_t file = records.front().file;
      if (!reader_ || file >= reader_->files().size()) {
        detail::throw_state_error(metrics().name(),
                                  "a buffer of the pipeline holds records of other files");
      }
      tfrecord_file& from = *reader_->files()[file];
      indices.clear();
      std::uint64_t bytes = 0;
      for (const origin& o : records.first(std::min(most, records.size()))) {
        if (o.file != file) break;
        const bool is_there = o.index < from.size() && from.index()[o.index].offset == o.offset;
        if (!is_there) detail::throw_record_error(from.path(), o);
        bytes += from.index()[o.index].size + tfrecord_overhead + options_.file.max_gap;
        if (!indices.empty() && bytes > most_bytes) break;
        indices.push_back(o.index);
      }
      count = indices.size();
      co_await from.read(indices, block);
      for (std::size_t i = 0; i < count;) {
        const std::size_t some = std::min(count - i, detail::restore_share_of_turn);
        record_selection part = block.slice(i, some);
        to(part, records.subspan(i, some));
        i += some;
        co_await detail::yield_turn("pipeline");
      }
    }
  }

 private:
  // The state of the reader before a block, and the records of that block.
  struct log_entry {
    indexed_reader_state before;
    std::uint64_t epoch = 0;  // of the block's records
    // The position after each record, if others were skipped.
    std::vector<std::uint64_t> positions_after = {};
    std::vector<origin> origins = {};
  };

  [[nodiscard]] indexed_state state_of(std::string reader) const {
    indexed_state s;
    s.seed = seed_;
    s.rank = options_.world;
    if (!reader.empty()) s.versions = versions();
    s.reader = std::move(reader);
    return s;
  }

  // Returns the state of the reader before an element. Precondition: it is open.
  [[nodiscard]] indexed_reader_state position_before(detail::block_position before) const {
    const std::uint64_t had = before.element;
    const log_entry* const at = replay_log_.find(before.block);
    indexed_reader_state s = at ? at->before : reader_->state();
    // Positions count records: with shard_by::records, the records of all ranks.
    if (at && had > 0) {
      if (s.epoch != at->epoch) {  // the old epoch had no record left
        s.epoch = at->epoch;
        s.position = 0;
        s.parts.clear();
      }
      const bool has_rank_order = s.by == shard_by::files && s.parts.empty();
      const std::uint64_t step = has_rank_order ? 1 : s.world_size;
      s.position += had * step;
      if (!at->positions_after.empty())
        s.position = at->positions_after[static_cast<std::size_t>(had - 1)];
      s.position = std::min(s.position, s.position_count());  // the last step may be incomplete
    }
    return s;
  }

  // Rejects a state in an epoch after the last one.
  void require_epoch(const indexed_reader_state& s) const {
    const bool has_begun = s.position > 0 || !s.parts.empty();
    const std::uint64_t begun = s.epoch + (has_begun ? 1 : 0);
    if (!options_.num_epochs || begun <= *options_.num_epochs) return;
    detail::throw_state_error(metrics().name(), "it is in epoch " + std::to_string(begun) +
                                                    ", but num_epochs is " +
                                                    std::to_string(*options_.num_epochs));
  }

  // The versions of files that are read by the indexes of their records.
  [[nodiscard]] std::vector<detail::saved_file_version> versions() const {
    std::vector<detail::saved_file_version> all;
    for (const auto& f : reader_->files()) {
      const tfrecord_fingerprint& s = f->index().fingerprint();
      all.push_back({.read = true, .size = s.size, .modified_ns = s.modified_ns});
    }
    return all;
  }

  // The reader's error is about the sum of all files only.
  void throw_changed_file(const std::vector<detail::saved_file_version>& saved) const {
    const std::vector<detail::saved_file_version> now = versions();
    if (now.size() != saved.size()) return;
    const auto [here, then] = std::ranges::mismatch(now, saved);
    if (here == now.end()) return;
    const std::string& path =
        reader_->files()[static_cast<std::size_t>(here - now.begin())]->path();
    detail::throw_state_error(metrics().name(),
                              "'" + path + "'" + detail::describe_change(*then, here->size));
  }

  task<void> open() {
    std::vector<std::string> paths = co_await detail::find_tfrecord_files(files_, metrics().name());
    indexed_reader_options options = options_;
    options.seed = seed_;
    reader_ = co_await indexed_reader::open(std::move(paths), std::move(options));
    first_global_indexes_.clear();
    std::uint64_t first = 0;
    for (const auto& f : reader_->files()) {
      first_global_indexes_.push_back(first);
      first += f->size();
    }
  }

  // Returns the position after each record of a block from which corrupt records were skipped.
  [[nodiscard]] std::vector<std::uint64_t> find_positions_after(const record_selection& block,
                                                                const log_entry& at) const {
    std::vector<std::uint64_t> records;
    for (const auto& f : reader_->files()) records.push_back(f->size());
    epoch_order order(records, options_.shuffle, reader_->seed(), options_.world, options_.shard);
    const bool same_epoch = at.epoch == at.before.epoch;
    order.begin(at.epoch, same_epoch ? at.before.parts : std::vector<epoch_part>());
    std::uint64_t position = same_epoch ? at.before.position : 0;
    std::vector<std::uint64_t> positions_after;
    for (std::size_t i = 0; i < block.size(); ++i) {
      while (order.at(position).global_index != block.global_index(i))
        position = order.next(position);
      position = order.next(position);
      positions_after.push_back(position);
    }
    return positions_after;
  }

  void note(const record_selection& block) {
    std::vector<origin>& all = replay_log_.last().origins;
    all.reserve(block.size());
    for (std::size_t i = 0; i < block.size(); ++i) {
      // A file without records has the first index of the next file. upper_bound() finds the last
      // file with this index, which has the record.
      const auto file = std::ranges::upper_bound(first_global_indexes_, block.global_index(i)) -
                        first_global_indexes_.begin() - 1;
      const record_position at = block.position(i);
      all.push_back({static_cast<std::uint32_t>(file), at.offset, at.index, 0});
    }
  }

  const std::vector<std::string> files_;
  const indexed_reader_options options_;
  const std::uint64_t initial_seed_;  // of the orders, as declared
  std::uint64_t seed_;
  std::unique_ptr<indexed_reader> reader_;
  std::vector<std::uint64_t>
      first_global_indexes_;  // global index of the first record of each file
  detail::replay_log<log_entry> replay_log_;
  bool origins_enabled_ = false;
};

}  // namespace

pipeline<record_selection> read_indexed(option_list<std::string> files,
                                        indexed_reader_options given, pipeline_options options) {
  indexed_reader_options reader = std::move(given);  // see braced
  auto context = detail::make_pipeline_context(std::move(options));
  if (files.empty())
    context->throw_declaration_error(reader.name, "no files: pass at least one path or pattern");
  indexed_reader::check_options(reader);
  indexed_reader::check_seed(reader);
  context->wrap_report_handler(reader.corruption.on_report);
  stage_metrics& metrics = context->add_stage(reader.name);
  return {std::move(context),
          std::make_unique<indexed_stage>(metrics, std::move(files), std::move(reader))};
}

}  // namespace LEAT
