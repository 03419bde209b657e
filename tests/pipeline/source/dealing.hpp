#pragma once

// Pipelines of several ranks, and the rest that another number of ranks reads.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "pipeline/resuming.hpp"
#include "support/effort.hpp"

namespace leat_test {

inline std::string join_rows(const leat::owned_record_batch& rows) {
  std::string text;
  for (const leat::byte_view row : rows) text += text_of_record(row) + ',';
  return text;
}

/// "a,b" as "a" and "b".
inline texts parts_of(const std::string& text) {
  texts parts;
  std::string part;
  for (const char c : text + ',') {
    if (c != ',') {
      part += c;
    } else if (!part.empty()) {
      parts.push_back(std::exchange(part, {}));
    }
  }
  return parts;
}

/// Returns the parts of all elements, sorted. An element may be a batch.
inline texts contents(const texts& all) { return sorted(parts_of(joined_by_commas(all))); }

template <class Pipeline>
texts go_on_with(Pipeline p, const texts& states, std::size_t count = SIZE_MAX,
                 std::string* state = nullptr) {
  const auto body = [&]() -> leat::task<texts> {
    if (!states.empty()) co_await p.restore_ranks(states);
    auto [all, after] = co_await read_and_save(p, count);
    if (state) *state = after.back();
    co_return all;
  };
  return leat::block_on(body());
}

/// Each number of ranks in turn reads some elements, more with each rank, and is saved; the last
/// one reads the rest. Each element occurs as often as in the stream of a single rank.
template <class Make>
void check_dealing(const std::vector<std::uint64_t>& worlds, std::size_t some, Make make) {
  const texts all = go_on_with(make(0, 1), {});
  texts seen;
  texts states;
  for (std::size_t i = 0; i < worlds.size(); ++i) {
    const bool is_last = i + 1 == worlds.size();
    texts after(worlds[i]);
    for (std::uint64_t rank = 0; rank < worlds[i]; ++rank) {
      const std::size_t count = is_last ? SIZE_MAX : some * (1 + rank);
      const texts part = go_on_with(make(rank, worlds[i]), states, count, &after[rank]);
      seen.insert(seen.end(), part.begin(), part.end());
    }
    std::reverse(after.begin(), after.end());  // in any order
    states = std::move(after);
  }
  INFO("of " << worlds.size() << " numbers of ranks from " << worlds.front() << " on, " << some);
  CHECK((contents(seen) == contents(all)));
}

/// Like check_dealing(), for every k: even ranks are saved after k elements, and the others
/// elsewhere. Another number of ranks reads the rest, or a part of it before a third number reads
/// the rest. A slow build tries a few k.
template <class Make>
void check_dealing_everywhere(Make make) {
  using numbers = std::vector<std::uint64_t>;
  const bool few = slow_build || is_repeated_run();
  const texts all = contents(go_on_with(make(0, 1), {}));
  REQUIRE(all.size() >= 25);
  for (const std::uint64_t before : few ? numbers{1, 3} : numbers{1, 2, 3}) {
    std::vector<std::pair<texts, texts>> ranks;
    std::size_t most = 0;
    for (std::uint64_t rank = 0; rank < before; ++rank) {
      ranks.push_back(run_and_save(make(rank, before)));
      most = std::max(most, ranks.back().first.size());
    }
    const std::size_t step = few ? 47 : 1;
    for (std::size_t k = 0; k <= most; k += step) {
      texts had;
      texts states;
      for (std::size_t r = 0; r < ranks.size(); ++r) {
        const texts& elements = ranks[r].first;
        const std::size_t at =
            r % 2 == 0 ? std::min(k, elements.size()) : k * (1 + r) % (elements.size() + 1);
        had.insert(had.end(), elements.begin(), elements.begin() + static_cast<std::ptrdiff_t>(at));
        states.push_back(ranks[r].second[at]);
      }
      for (const std::uint64_t behind : few ? numbers{2, 3} : numbers{1, 2, 3, 5}) {
        texts seen = had;
        for (std::uint64_t rank = 0; rank < behind; ++rank) {
          const texts rest = go_on_with(make(rank, behind), states);
          seen.insert(seen.end(), rest.begin(), rest.end());
        }
        INFO(behind << " ranks behind " << before << ", which have had " << k);
        REQUIRE((contents(seen) == all));
      }
    }
  }
  leat::random_engine random(3);
  for (const std::uint64_t first : few ? numbers{2} : numbers{1, 2, 3, 5}) {
    for (const std::uint64_t second : few ? numbers{3} : numbers{1, 2, 3, 5}) {
      for (std::uint64_t i = 0; i < scaled_count(3); ++i) {
        check_dealing({first, second, 1 + random.uniform_below(5)}, random.uniform_below(12), make);
        check_dealing({first, second, first, second}, 1 + random.uniform_below(6), make);
      }
    }
  }
}

}  // namespace leat_test
