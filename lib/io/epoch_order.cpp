#include "leat/io/epoch_order.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "leat/core/error.hpp"
#include "leat/core/random.hpp"

namespace leat {
namespace {

constexpr std::uint64_t max_world_size = std::uint64_t{1} << 32;

std::vector<std::uint64_t> firsts_of(std::span<const std::uint64_t> records_of_files) {
  std::vector<std::uint64_t> firsts = {0};
  for (const std::uint64_t records : records_of_files) {
    if (records > permutation::max_size - firsts.back()) {
      throw failure(errc::invalid_argument, "epoch_order: the files have more than 2^63 records");
    }
    firsts.push_back(firsts.back() + records);
  }
  return firsts;
}

void check(const shard_options& shard) {
  const auto refuse = [](const std::string& why) {
    throw failure(errc::invalid_argument, "shard_options: " + why);
  };
  if (shard.world_size == 0 || shard.world_size > max_world_size) {
    refuse("world_size is " + std::to_string(shard.world_size) + ", must be 1 to 2^32");
  }
  if (shard.rank >= shard.world_size) {
    refuse("rank is " + std::to_string(shard.rank) + ", must be below the world_size of " +
           std::to_string(shard.world_size));
  }
}

// The index of the list that an item is in, by the number of each list's first item.
std::size_t list_of(std::uint64_t item, const std::vector<std::uint64_t>& firsts) noexcept {
  const auto behind = std::upper_bound(firsts.begin(), firsts.end(), item);
  return static_cast<std::size_t>(behind - firsts.begin()) - 1;
}

// Seeds of orders that have nothing to do with each other.
std::uint64_t seed_of_files(std::uint64_t seed) {
  return random_engine(seed).stream(UINT64_MAX).seed();
}
std::uint64_t seed_of_rank(std::uint64_t seed, std::uint64_t rank) {
  return random_engine(seed).stream(rank).seed();
}

}  // namespace

epoch_order::epoch_order(std::span<const std::uint64_t> records_of_files, bool shuffle,
                         std::uint64_t seed, const shard_options& shard)
    : firsts_(firsts_of(records_of_files)),
      shuffle_(shuffle),
      seed_(seed),
      shard_(shard),
      order_(size(), seed) {
  check(shard_);
  for (std::size_t file = 0; file < records_of_files.size(); ++file) {
    if (records_of_files[file] > 0) with_records_.push_back(file);
  }
  begin(0);
}

void epoch_order::begin(std::uint64_t epoch) {
  if (by_files()) {
    choose_files(epoch);
    order_ = permutation(own_firsts_.back(), seed_of_rank(seed_, shard_.rank), epoch);
  } else {
    order_ = permutation(size(), seed_, epoch);
  }
  epoch_ = epoch;
  parts_.clear();
}

void epoch_order::begin(std::uint64_t epoch, std::span<const epoch_part> parts) {
  std::vector<dealt_part> dealt;
  std::uint64_t next = 0;
  for (const epoch_part& p : parts) {
    dealt.push_back({p, permutation(size(), seed_, p.epoch), next});
    next += p.count;
  }
  begin(epoch);
  parts_ = std::move(dealt);
}

void epoch_order::choose_files(std::uint64_t epoch) {
  const permutation order(with_records_.size(), seed_of_files(seed_), epoch);
  const std::uint64_t ranks = std::min<std::uint64_t>(shard_.world_size, order.size());
  std::vector<std::uint64_t> records(static_cast<std::size_t>(ranks));  // of each rank that has any
  std::vector<std::size_t> files;
  std::vector<std::uint64_t> firsts = {0};
  for (std::uint64_t place = 0; place < order.size(); ++place) {
    const std::size_t file =
        with_records_[static_cast<std::size_t>(shuffle_ ? order[place] : place)];
    const std::uint64_t rank = place % shard_.world_size;
    records[static_cast<std::size_t>(rank)] += records_of(file);
    if (rank != shard_.rank) continue;
    files.push_back(file);
    firsts.push_back(firsts.back() + records_of(file));
  }
  // From here on nothing fails.
  files_ = std::move(files);
  own_firsts_ = std::move(firsts);
  most_ = records.empty() ? 0 : std::ranges::max(records);
  least_ = ranks < shard_.world_size ? 0 : std::ranges::min(records);
}

epoch_order::shares epoch_order::shares_from(std::uint64_t position) const noexcept {
  const auto left = [position](std::uint64_t all) { return all - std::min(position, all); };
  if (by_files()) return {left(own_firsts_.back()), left(least_), left(most_)};
  const std::uint64_t n = left(places());
  const std::uint64_t rounds = n / shard_.world_size;
  const std::uint64_t rest = n % shard_.world_size;
  return {rounds + (shard_.rank < rest ? 1 : 0), rounds, rounds + (rest > 0 ? 1 : 0)};
}

shard_counts epoch_order::left_from(std::uint64_t position) const noexcept {
  const shares s = shares_from(position);
  switch (shard_.last) {
    case shard_remainder::keep: break;
    case shard_remainder::drop: return {.records = s.least, .dropped = s.own - s.least};
    case shard_remainder::repeat:
      // Without records of its own a rank has none to repeat.
      if (by_files() && own_firsts_.back() == 0) break;
      return {.records = s.most, .repeated = s.most - s.own};
  }
  return {.records = s.own};
}

bool epoch_order::ended(std::uint64_t position) const noexcept {
  const bool uneven = !by_files() && shard_.last == shard_remainder::keep;
  return uneven ? position >= places() : left_from(position).records == 0;
}

std::uint64_t epoch_order::item_at(std::uint64_t place) const noexcept {
  if (parts_.empty()) return shuffle_ ? order_[place] : place;
  const auto behind = std::ranges::upper_bound(parts_, place, {}, &dealt_part::begin);
  const dealt_part& d = *std::prev(behind);
  const std::uint64_t of_epoch = d.part.first + (place - d.begin) * d.part.stride;
  return shuffle_ ? d.order[of_epoch] : of_epoch;
}

epoch_order::entry epoch_order::at(std::uint64_t position) const noexcept {
  const std::uint64_t place = position + (by_files() ? 0 : shard_.rank);
  const std::uint64_t all = places();
  entry e;
  e.repeated = place >= all;
  const std::uint64_t item = item_at(place % all);
  if (by_files()) {
    const std::size_t list = list_of(item, own_firsts_);
    e.file = files_[list];
    e.index = item - own_firsts_[list];
    e.ordinal = firsts_[e.file] + e.index;
  } else {
    e.file = list_of(item, firsts_);
    e.index = item - firsts_[e.file];
    e.ordinal = item;
  }
  return e;
}

}  // namespace leat
