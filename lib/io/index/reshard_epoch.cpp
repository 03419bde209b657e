// Collects what the ranks of an indexed_reader have not read yet, from the state of each rank.

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "leat/base/error.hpp"
#include "leat/io/index/indexed_reader_state.hpp"
#include "leat/io/index/internal/epoch_limits.hpp"

namespace LEAT {
namespace {

// For each epoch, from that of the slowest rank to that of the farthest, reshard() collects the
// positions that each rank has not read as a list of parts:
//
// - By records, a rank reads every world_size-th position. In the last epoch, its rest ends at the
//   position of the farthest rank, and the positions after that, which no rank has read, follow as
//   one part. In earlier epochs, its rest ends with the epoch.
// - By files, its rest is the rest of its own order.
// - A redistributed epoch is divided like an epoch by records. It can only be the first of these
//   epochs, because require_one_order() refuses ranks in an earlier one.
//
// The parts form one redistributed epoch, which has the number of the last epoch that a rank has
// begun.

using part_list = std::vector<epoch_part>;

part_list whole_epoch(const indexed_reader_state& s, std::uint64_t epoch) {
  return {{.epoch = epoch, .count = s.records}};
}

part_list epoch_parts(const indexed_reader_state& s) {
  return s.parts.empty() ? whole_epoch(s, s.epoch) : s.parts;
}

std::uint64_t count_positions(const part_list& all) noexcept {
  std::uint64_t positions = 0;
  for (const epoch_part& p : all) positions += p.count;
  return positions;
}

// The unread rest of the orders of ranks with shard_by::files.
class file_rank_orders {
 public:
  // For the files of a state with shard_by::files. Errors: failed_precondition for other files.
  file_rank_orders(const indexed_reader_state& s, std::span<const std::uint64_t> records_of_files,
                   std::uint64_t ranks, shard_remainder remainder, std::string_view reader)
      : files_(records_of_files, s.shuffle, s.seed, {}, {.by = shard_by::files}),
        ranks_(ranks),
        drops_(remainder == shard_remainder::drop) {
    if (files_.size() == s.records) return;
    throw failure(errc::failed_precondition,
                  std::string(reader) + ": states have " + std::to_string(s.records) +
                      " records, but the files have " + std::to_string(files_.size()));
  }

  // Moves to an epoch. `is_over`: the records that ranks drop at its end belong to no rank.
  void begin(std::uint64_t epoch, bool is_over) {
    epoch_ = epoch;
    begins_ = files_.rank_begin_positions(epoch, ranks_);
    most_ = UINT64_MAX;
    if (!is_over || !drops_) return;
    for (std::size_t r = 0; r < ranks_; ++r) most_ = std::min(most_, begins_[r + 1] - begins_[r]);
  }

  // Adds the rest of one rank from a position on.
  void add_remaining(std::uint64_t rank, std::uint64_t position, part_list& to) const {
    const auto r = static_cast<std::size_t>(rank);
    const std::uint64_t count = std::min(most_, begins_[r + 1] - begins_[r]);
    if (position >= count) return;
    to.push_back({.epoch = epoch_,
                  .first = begins_[r] + position,
                  .count = count - position,
                  .ranks = ranks_});
  }

 private:
  const epoch_order files_;
  const std::uint64_t ranks_;
  const bool drops_;
  std::uint64_t epoch_ = 0;
  std::vector<std::uint64_t> begins_ = {};
  std::uint64_t most_ = UINT64_MAX;  // of each rank
};

// Adds every stride-th position of a sequence of consecutive parts, from one position to another.
// `first` stays the next position to add; `begin` is the position of the current part.
void add_positions(const part_list& from, std::uint64_t first, std::uint64_t stride,
                   std::uint64_t end, part_list& to) {
  std::uint64_t begin = 0;
  for (const epoch_part& p : from) {
    const std::uint64_t part_end = std::min(begin + p.count, end);
    if (first < part_end) {
      const std::uint64_t count = (part_end - first - 1) / stride + 1;
      to.push_back({.epoch = p.epoch,
                    .first = p.first + (first - begin) * p.stride,
                    // Of a single position, the stride has no effect, and the product could
                    // overflow.
                    .stride = count > 1 ? p.stride * stride : 1,
                    .count = count,
                    .ranks = p.ranks});
      first += count * stride;
    }
    begin += p.count;
  }
}

// Throws for states that do not belong together.
void require_one_order(std::span<const indexed_reader_state> ranks, std::string_view reader) {
  const auto throw_error = [&](std::size_t rank, const std::string& why) {
    throw failure(errc::failed_precondition, std::string(reader) + ": rank " +
                                                 std::to_string(rank) + " of " +
                                                 std::to_string(ranks.size()) + ' ' + why);
  };
  const auto order_of = [](indexed_reader_state s) {
    s.epoch = s.position = 0;
    s.parts.clear();
    return s;
  };
  const auto resharded =
      std::ranges::find_if(ranks, [](const auto& s) { return !s.parts.empty(); });
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const indexed_reader_state& s = ranks[r];
    if (order_of(s) != order_of(ranks[0]) || s.world_size != ranks.size()) {
      throw_error(
          r, "differs from rank 0 in its files, order or world_size: pass the states of one job");
    }
    if (resharded == ranks.end()) continue;
    // Only complete epochs follow it.
    const bool same = s.epoch > resharded->epoch ? s.parts.empty() : s.parts == resharded->parts;
    if (s.epoch < resharded->epoch || !same) {
      throw_error(r, "was not resumed from the same states as the other ranks");
    }
  }
}

}  // namespace

std::uint64_t indexed_reader_state::position_count() const noexcept {
  return parts.empty() ? records : count_positions(parts);
}

indexed_reader_state indexed_reader_state::reshard(std::span<const indexed_reader_state> ranks,
                                                   std::span<const std::uint64_t> records_of_files,
                                                   shard_remainder remainder,
                                                   std::string_view reader) {
  if (ranks.empty()) {
    throw failure(errc::failed_precondition,
                  std::string(reader) + ": no states: pass the state of each rank");
  }
  const auto position_of = [](const indexed_reader_state& s) {
    return std::tuple(s.epoch, s.position);
  };
  indexed_reader_state left = *std::ranges::max_element(ranks, {}, position_of);
  const auto is_there = [&left](const indexed_reader_state& s) { return s == left; };
  if (!left.is_within_rank_order() && std::ranges::all_of(ranks, is_there)) return left;
  require_one_order(ranks, reader);
  const std::uint64_t world_size = ranks.size();
  for (std::uint64_t rank = 0; rank < world_size; ++rank) {
    const std::uint64_t apart = left.epoch - ranks[static_cast<std::size_t>(rank)].epoch;
    const std::string why = detail::epoch_gap_error(rank, world_size, apart);
    if (!why.empty()) throw failure(errc::failed_precondition, std::string(reader) + ": " + why);
  }
  std::optional<file_rank_orders> own;
  if (left.by == shard_by::files)
    own.emplace(left, records_of_files, world_size, remainder, reader);

  const part_list farthest = epoch_parts(left);
  const bool has_begun = left.position > 0 || !left.parts.empty();
  const std::uint64_t reached = std::min(left.position, left.position_count());
  part_list all;
  for (std::uint64_t e = std::ranges::min_element(ranks, {}, position_of)->epoch; e <= left.epoch;
       ++e) {
    const bool is_last = e == left.epoch;
    if (own) own->begin(e, !is_last);
    for (std::uint64_t rank = 0; rank < world_size; ++rank) {
      const indexed_reader_state& s = ranks[static_cast<std::size_t>(rank)];
      // This rank has read all of its share of epoch e.
      if (s.epoch > e) continue;
      const bool is_whole = e > s.epoch || s.parts.empty();
      const std::uint64_t from = e > s.epoch ? 0 : s.position;
      if (own && is_whole) {
        // If no rank has begun the last epoch, it stays a whole one.
        if (!is_last || has_begun) own->add_remaining(rank, from, all);
        continue;
      }
      const part_list parts_in_epoch = is_last ? farthest : is_whole ? whole_epoch(s, e) : s.parts;
      std::uint64_t end = is_last ? reached : count_positions(parts_in_epoch);
      const bool drops = !is_last && remainder == shard_remainder::drop;
      // No rank reads an incomplete last round.
      if (drops) end -= (end - std::min(from, end)) % world_size;
      add_positions(parts_in_epoch, from + rank, world_size, end, all);
    }
  }
  if (left.is_within_rank_order() && all.empty()) {  // no rank has any of it left
    if (left.epoch < detail::max_epochs) ++left.epoch;
    left.position = 0;
  }
  if (all.empty()) return left;
  if (!has_begun) {
    --left.epoch;  // no rank has started the next one
  } else if (!left.is_within_rank_order()) {
    add_positions(farthest, reached, 1, count_positions(farthest), all);
  }
  left.position = 0;
  left.parts = std::move(all);
  return left;
}

}  // namespace LEAT
