#include "leat/pipeline/state/detail/replay_requests.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "leat/pipeline/element/detail/shuffle_slot.hpp"

namespace leat::detail {
namespace {

// Sorts places by a column of what they want, those of the same value as they were: 11 bits at a
// time, the lowest first, since what comparisons of random places give no processor foresees.
template <class Column>
void sort_by(Column column, std::span<const origin> held, std::vector<std::uint32_t>& places,
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
    for (const std::uint32_t p : places) sorted[begin[digit(held[p])]++] = p;
    std::swap(places, sorted);
  }
}

}  // namespace

wanted_elements::wanted_elements(std::span<const origin> held)
    : held_(held), places_(held.size()), is_there_(held.size()) {
  std::vector<std::uint32_t> sorted(held.size());
  std::iota(places_.begin(), places_.end(), std::uint32_t{0});
  sort_by(&origin::branch, held, places_, sorted);
  sort_by(&origin::index, held, places_, sorted);
  sort_by(&origin::offset, held, places_, sorted);
  sort_by(&origin::file, held, places_, sorted);
}

std::vector<origin> wanted_elements::records() const {
  std::vector<origin> all;
  all.reserve(places_.size());
  for (const std::uint32_t p : places_) {
    if (all.empty() || !all.back().same_record(held_[p])) all.push_back(held_[p].record());
  }
  return all;
}

wanted_elements::range wanted_elements::who_want(const origin& o) noexcept {
  std::size_t first = next_;
  if (first < places_.size()) ask_for(&held_[place_later(first)]);
  if (first == places_.size() || what(first) != o) {
    const auto at = std::ranges::lower_bound(
        places_, o, {}, [this](std::uint32_t p) -> const origin& { return held_[p]; });
    first = static_cast<std::size_t>(at - places_.begin());
  }
  std::size_t last = first;
  while (last < places_.size() && what(last) == o) ++last;
  next_ = last;
  return {first, last};
}

void wanted_elements::forget_given() noexcept {
  std::size_t left = 0;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (!is_there_[i]) places_[left++] = places_[i];
  }
  places_.resize(left);
  is_there_.assign(left, false);
  next_ = 0;
}

}  // namespace leat::detail
