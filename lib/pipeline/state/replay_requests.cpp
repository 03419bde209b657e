#include "leat/pipeline/state/detail/replay_requests.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "leat/pipeline/element/detail/shuffle_slot.hpp"

// Invariant: `slots_` lists the slots that still wait for an element, sorted by origin, and two of
// the same origin in the order of the slots. So the requests of an element are neighbours, and the
// records of all requests are in the order in which a source reads them. `next_` is only a guess:
// a wrong one costs a binary search. Requests are removed by drop_delivered() alone, so their
// indexes stay valid while a stage delivers.

namespace LEAT::detail {
namespace {

// Sorts slots by a column of the origins that they request. The sort is stable. It is a radix sort,
// 11 bits at a time, the lowest first, because the comparisons of random positions would be
// mispredicted.
template <class Column>
void sort_by(Column column, std::span<const origin> held, std::vector<std::uint32_t>& slots,
             std::vector<std::uint32_t>& sorted) {
  constexpr unsigned bits = 11;
  std::uint64_t all = 0;
  for (const origin& o : held) all |= o.*column;
  for (unsigned shift = 0; shift < 64 && all >> shift != 0; shift += bits) {
    const auto digit = [&](const origin& o) {
      return static_cast<std::size_t>((o.*column >> shift) & ((1U << bits) - 1));
    };
    std::array<std::uint32_t, std::size_t{1} << bits> begin{};
    for (const origin& o : held) ++begin[digit(o)];
    std::exclusive_scan(begin.begin(), begin.end(), begin.begin(), std::uint32_t{0});
    for (const std::uint32_t p : slots) sorted[begin[digit(held[p])]++] = p;
    std::swap(slots, sorted);
  }
}

}  // namespace

replay_requests::replay_requests(std::span<const origin> held)
    : held_(held), slots_(held.size()), delivered_(held.size()) {
  std::vector<std::uint32_t> sorted(held.size());
  std::iota(slots_.begin(), slots_.end(), std::uint32_t{0});
  sort_by(&origin::branch, held, slots_, sorted);
  sort_by(&origin::index, held, slots_, sorted);
  sort_by(&origin::offset, held, slots_, sorted);
  sort_by(&origin::file, held, slots_, sorted);
}

std::vector<origin> replay_requests::records() const {
  std::vector<origin> all;
  all.reserve(slots_.size());
  for (const std::uint32_t p : slots_) {
    if (all.empty() || !all.back().same_record(held_[p])) all.push_back(held_[p].record());
  }
  return all;
}

replay_requests::range replay_requests::find_requesters(const origin& o) noexcept {
  std::size_t first = next_;
  if (first < slots_.size()) prefetch_line(&held_[slot_ahead(first)]);
  if (first == slots_.size() || what(first) != o) {
    const auto at = std::ranges::lower_bound(
        slots_, o, {}, [this](std::uint32_t p) -> const origin& { return held_[p]; });
    first = static_cast<std::size_t>(at - slots_.begin());
  }
  std::size_t last = first;
  while (last < slots_.size() && what(last) == o) ++last;
  next_ = last;
  return {first, last};
}

void replay_requests::drop_delivered() noexcept {
  std::size_t left = 0;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!delivered_[i]) slots_[left++] = slots_[i];
  }
  slots_.resize(left);
  delivered_.assign(left, false);
  next_ = 0;
}

}  // namespace LEAT::detail
