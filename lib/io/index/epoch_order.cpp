#include "leat/io/index/epoch_order.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "leat/base/error.hpp"
#include "leat/base/random.hpp"

// A record is found in three steps. Each is a bijection, so an epoch reads each record once:
//
//     position of the rank  →  order position  →  item  →  file and index
//
// By records, the order position is the position plus the rank: the ranks take turns. The item is
// the global index of the record, that is its place among the records of all files.
//
// By files, the rank counts its own positions. Its items are the records of its files one after
// another (`files_`, `rank_firsts_`), and become global indexes at the end.
//
// A shuffle permutes order positions to items, with one seed for the records, one for the files and
// one for each rank. The orders of an epoch depend on nothing that was read before.
//
// In a redistributed epoch (`parts_`), the order positions count through the parts. Each part
// refers to the order of its own epoch, as it was for the number of ranks at that time.

namespace LEAT {
namespace {

std::vector<std::uint64_t> first_global_indexes(std::span<const std::uint64_t> records_of_files) {
  std::vector<std::uint64_t> firsts = {0};
  for (const std::uint64_t records : records_of_files) {
    if (records > permutation::max_size - firsts.back()) {
      throw failure(errc::invalid_argument, "epoch_order: files have more than 2^63 records");
    }
    firsts.push_back(firsts.back() + records);
  }
  return firsts;
}

void check(const world_rank& world) {
  const std::string error = world.error();
  if (!error.empty()) throw failure(errc::invalid_argument, "epoch_order: " + error);
}

// Returns the index of the list that contains an item, from the number of each list's first item.
// Of several lists with the same first item, all but the last are empty, and the last is found.
std::size_t find_list(std::uint64_t item, const std::vector<std::uint64_t>& firsts) noexcept {
  const auto after = std::upper_bound(firsts.begin(), firsts.end(), item);
  return static_cast<std::size_t>(after - firsts.begin()) - 1;
}

// Derives seeds of independent orders.
std::uint64_t seed_of_files(std::uint64_t seed) {
  return random_engine(seed).stream(UINT64_MAX).seed();
}
std::uint64_t seed_of_rank(std::uint64_t seed, std::uint64_t rank) {
  return random_engine(seed).stream(rank).seed();
}

}  // namespace

epoch_order::epoch_order(std::span<const std::uint64_t> records_of_files, bool shuffle,
                         std::uint64_t seed, world_rank world, const shard_options& shard)
    : firsts_(first_global_indexes(records_of_files)),
      shuffle_(shuffle),
      seed_(seed),
      world_(world),
      shard_(shard),
      order_(size(), seed) {
  check(world_);
  for (std::size_t file = 0; file < records_of_files.size(); ++file) {
    if (records_of_files[file] > 0) nonempty_files_.push_back(file);
  }
  begin(0);
}

void epoch_order::begin(std::uint64_t epoch) {
  if (by_files()) {
    choose_files(epoch);
    order_ = permutation(rank_firsts_.back(), seed_of_rank(seed_, world_.rank), epoch);
  } else {
    order_ = permutation(size(), seed_, epoch);
  }
  epoch_ = epoch;
  parts_.clear();
  rank_orders_.clear();
}

void epoch_order::begin(std::uint64_t epoch, std::span<const epoch_part> parts) {
  // All that can fail is done before begin(), and begin() changes nothing if it fails.
  std::vector<resharded_part> resharded;
  std::vector<rank_orders> all;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> known;
  std::uint64_t next = 0;
  for (const epoch_part& p : parts) {
    resharded.push_back({p, permutation(size(), seed_, p.epoch), next});
    next += p.count;
    if (p.ranks == 0) continue;
    // Parts of one epoch with the same number of ranks share one element of rank_orders_.
    const auto [at, is_new] = known.try_emplace(std::pair(p.epoch, p.ranks), all.size());
    if (is_new) all.push_back(make_rank_orders(p.epoch, p.ranks));
    resharded.back().rank_orders_index = at->second;
  }
  begin(epoch);
  parts_ = std::move(resharded);
  rank_orders_ = std::move(all);
}

// Deals the files that have records to the ranks in turn, in this epoch's order of files. Ranks
// beyond the number of these files have no files and no element in `begins`. No dealt file is
// empty, so `firsts` ascends strictly, and find_list() finds the file of any position.
epoch_order::shared_files epoch_order::share_files(std::uint64_t epoch, std::uint64_t ranks) const {
  const permutation order(nonempty_files_.size(), seed_of_files(seed_), epoch);
  const std::uint64_t have_some = std::min(ranks, order.size());
  shared_files s;
  s.files.reserve(nonempty_files_.size());
  s.firsts.reserve(nonempty_files_.size() + 1);
  s.begins.reserve(static_cast<std::size_t>(have_some) + 1);
  s.firsts.push_back(0);
  for (std::uint64_t rank = 0; rank < have_some; ++rank) {
    s.begins.push_back(s.firsts.back());
    for (std::uint64_t order_position = rank; order_position < order.size();
         order_position += ranks) {
      s.files.push_back(nonempty_files_[static_cast<std::size_t>(shuffle_ ? order[order_position]
                                                                          : order_position)]);
      s.firsts.push_back(s.firsts.back() + records_of(s.files.back()));
    }
  }
  s.begins.push_back(s.firsts.back());
  return s;
}

epoch_order::rank_orders epoch_order::make_rank_orders(std::uint64_t epoch,
                                                       std::uint64_t ranks) const {
  rank_orders o{epoch, ranks, share_files(epoch, ranks), {}};
  for (std::size_t rank = 0; rank + 1 < o.shared.begins.size(); ++rank) {
    o.orders.emplace_back(o.shared.begins[rank + 1] - o.shared.begins[rank],
                          seed_of_rank(seed_, rank), epoch);
  }
  return o;
}

std::vector<std::uint64_t> epoch_order::rank_begin_positions(std::uint64_t epoch,
                                                             std::uint64_t ranks) const {
  std::vector<std::uint64_t> begins = share_files(epoch, ranks).begins;
  begins.resize(static_cast<std::size_t>(ranks) + 1, begins.back());
  return begins;
}

void epoch_order::choose_files(std::uint64_t epoch) {
  const shared_files all = share_files(epoch, world_.world_size);
  const std::size_t ranks = all.begins.size() - 1;  // that have files
  std::vector<std::size_t> files;
  std::vector<std::uint64_t> firsts = {0};
  // A rank without files has the smallest share.
  std::uint64_t least = ranks < world_.world_size ? 0 : size();
  std::uint64_t most = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::uint64_t records = all.begins[rank + 1] - all.begins[rank];
    least = std::min(least, records);
    most = std::max(most, records);
  }
  if (world_.rank < ranks) {
    const std::uint64_t begin = all.begins[static_cast<std::size_t>(world_.rank)];
    const std::uint64_t end = all.begins[static_cast<std::size_t>(world_.rank) + 1];
    for (std::size_t i = find_list(begin, all.firsts); all.firsts[i] < end; ++i) {
      files.push_back(all.files[i]);
      firsts.push_back(all.firsts[i + 1] - begin);
    }
  }
  // Nothing fails after this.
  files_ = std::move(files);
  rank_firsts_ = std::move(firsts);
  least_ = least;
  most_ = most;
}

epoch_order::shares epoch_order::shares_from(std::uint64_t position) const noexcept {
  const auto left = [position](std::uint64_t all) { return all - std::min(position, all); };
  if (has_rank_order()) return {left(rank_firsts_.back()), left(least_), left(most_)};
  // By records, `position` is the first one of a step of all ranks: of the remaining positions,
  // this rank reads number `rank`, and from there every world_size-th.
  const std::uint64_t n = left(position_count());
  const std::uint64_t rounds = n / world_.world_size;
  const std::uint64_t rest = n % world_.world_size;
  return {rounds + (world_.rank < rest ? 1 : 0), rounds, rounds + (rest > 0 ? 1 : 0)};
}

shard_counts epoch_order::remaining_from(std::uint64_t position) const noexcept {
  const shares s = shares_from(position);
  switch (shard_.remainder) {
    case shard_remainder::keep: break;
    case shard_remainder::drop: return {.records = s.least, .dropped = s.own - s.least};
    case shard_remainder::repeat:
      // A rank without records of its own has none to repeat.
      if (has_rank_order() && rank_firsts_.back() == 0) break;
      return {.records = s.most, .repeated = s.most - s.own};
  }
  return {.records = s.own};
}

bool epoch_order::ended(std::uint64_t position) const noexcept {
  // By records with `keep`, the last step may have no record for this rank. Even so, the epoch is
  // not over before this step: ranks that have delivered equally many records must have equal
  // states.
  const bool uneven = !has_rank_order() && shard_.remainder == shard_remainder::keep;
  return uneven ? position >= position_count() : remaining_from(position).records == 0;
}

std::uint64_t epoch_order::global_index_of(
    std::uint64_t item, const std::vector<std::size_t>& files,
    const std::vector<std::uint64_t>& firsts) const noexcept {
  const std::size_t list = find_list(item, firsts);
  return firsts_[files[list]] + (item - firsts[list]);
}

std::uint64_t epoch_order::global_index_at(const resharded_part& d,
                                           std::uint64_t order_position) const noexcept {
  if (d.part.ranks == 0) return shuffle_ ? d.order[order_position] : order_position;
  const rank_orders& all = rank_orders_[d.rank_orders_index];
  const std::size_t rank = find_list(order_position, all.shared.begins);
  const std::uint64_t begin = all.shared.begins[rank];
  const std::uint64_t rank_index =
      shuffle_ ? all.orders[rank][order_position - begin] : order_position - begin;
  return global_index_of(begin + rank_index, all.shared.files, all.shared.firsts);
}

std::uint64_t epoch_order::global_index_at(std::uint64_t order_position) const noexcept {
  if (parts_.empty()) {
    const std::uint64_t item = shuffle_ ? order_[order_position] : order_position;
    return by_files() ? global_index_of(item, files_, rank_firsts_) : item;
  }
  const auto after = std::ranges::upper_bound(parts_, order_position, {}, &resharded_part::begin);
  const resharded_part& d = *std::prev(after);
  return global_index_at(d, d.part.first + (order_position - d.begin) * d.part.stride);
}

epoch_order::entry epoch_order::at(std::uint64_t position) const noexcept {
  // At the end of the order, records are repeated from its beginning.
  const std::uint64_t order_position = position + (has_rank_order() ? 0 : world_.rank);
  const std::uint64_t all = position_count();
  entry e;
  e.repeated = order_position >= all;
  e.global_index = global_index_at(order_position % all);
  e.file = find_list(e.global_index, firsts_);
  e.index = e.global_index - firsts_[e.file];
  return e;
}

}  // namespace LEAT
