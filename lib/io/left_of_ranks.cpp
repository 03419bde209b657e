// What ranks of an indexed_reader have left, wherever each of them stands.

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "leat/core/error.hpp"
#include "leat/io/detail/epoch_limits.hpp"
#include "leat/io/indexed_reader_state.hpp"

namespace leat {
namespace {

using part_list = std::vector<epoch_part>;

part_list whole_epoch(const indexed_reader_state& s, std::uint64_t epoch) {
  return {{.epoch = epoch, .count = s.records}};
}

part_list parts_of_epoch(const indexed_reader_state& s) {
  return s.parts.empty() ? whole_epoch(s, s.epoch) : s.parts;
}

std::uint64_t places_in(const part_list& all) noexcept {
  std::uint64_t places = 0;
  for (const epoch_part& p : all) places += p.count;
  return places;
}

// Adds every stride-th of the places in parts that stand one behind the other, from one to another.
void add_places(const part_list& from, std::uint64_t first, std::uint64_t stride, std::uint64_t end,
                part_list& to) {
  std::uint64_t begin = 0;
  for (const epoch_part& p : from) {
    const std::uint64_t behind = std::min(begin + p.count, end);
    if (first < behind) {
      const std::uint64_t count = (behind - first - 1) / stride + 1;
      to.push_back({.epoch = p.epoch,
                    .first = p.first + (first - begin) * p.stride,
                    .stride = count > 1 ? p.stride * stride : 1,
                    .count = count});
      first += count * stride;
    }
    begin += p.count;
  }
}

// Refuses states that do not go together.
void require_one_order(std::span<const indexed_reader_state> ranks, std::string_view reader) {
  const auto refuse = [&](std::size_t rank, const std::string& why) {
    throw failure(errc::failed_precondition, std::string(reader) + ": rank " +
                                                 std::to_string(rank) + " of " +
                                                 std::to_string(ranks.size()) + ' ' + why);
  };
  const auto order_of = [](indexed_reader_state s) {
    s.epoch = s.position = 0;
    s.parts.clear();
    return s;
  };
  const auto dealt = std::ranges::find_if(ranks, [](const auto& s) { return !s.parts.empty(); });
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const indexed_reader_state& s = ranks[r];
    if (order_of(s) != order_of(ranks[0]) || s.world_size != ranks.size()) {
      refuse(r, "has read other files than rank 0, or in another order, or is one of others");
    }
    if (s.by == shard_by::files) {
      refuse(r,
             "stands elsewhere than others, each of which reads files of its own: by files only "
             "as many ranks can go on in the midst of an epoch; or take shard_by::records");
    }
    if (dealt == ranks.end()) continue;
    // Behind it there are whole epochs only.
    const bool same = s.epoch > dealt->epoch ? s.parts.empty() : s.parts == dealt->parts;
    if (s.epoch < dealt->epoch || !same) {
      refuse(r, "has not gone on with what others have gone on with");
    }
  }
}

}  // namespace

std::uint64_t indexed_reader_state::places() const noexcept {
  return parts.empty() ? records : places_in(parts);
}

indexed_reader_state indexed_reader_state::left_of(std::span<const indexed_reader_state> ranks,
                                                   shard_remainder last, std::string_view reader) {
  const auto place_of = [](const indexed_reader_state& s) {
    return std::tuple(s.epoch, s.position);
  };
  indexed_reader_state left = *std::ranges::max_element(ranks, {}, place_of);
  const auto is_there = [&left](const indexed_reader_state& s) { return s == left; };
  if (std::ranges::all_of(ranks, is_there)) return left;
  require_one_order(ranks, reader);

  const part_list farthest = parts_of_epoch(left);
  const std::uint64_t reached = std::min(left.position, left.places());
  const std::uint64_t world_size = ranks.size();
  part_list all;
  for (std::uint64_t rank = 0; rank < world_size; ++rank) {
    const indexed_reader_state& s = ranks[static_cast<std::size_t>(rank)];
    const std::string why = detail::too_far_behind(rank, world_size, left.epoch - s.epoch);
    if (!why.empty()) throw failure(errc::failed_precondition, std::string(reader) + ": " + why);
    for (std::uint64_t e = s.epoch; e <= left.epoch; ++e) {
      const part_list of_epoch = e == left.epoch ? farthest
                                 : e == s.epoch  ? parts_of_epoch(s)
                                                 : whole_epoch(s, e);
      const std::uint64_t from = e == s.epoch ? s.position : 0;
      std::uint64_t end = e == left.epoch ? reached : places_in(of_epoch);
      const bool drops = e < left.epoch && last == shard_remainder::drop;
      if (drops) end -= (end - std::min(from, end)) % world_size;
      add_places(of_epoch, from + rank, world_size, end, all);
    }
  }
  if (all.empty()) return left;
  left.position = 0;
  if (reached > 0 || !left.parts.empty()) {
    add_places(farthest, reached, 1, places_in(farthest), all);
  } else {
    --left.epoch;  // nobody has begun the next one
  }
  left.parts = std::move(all);
  return left;
}

}  // namespace leat
