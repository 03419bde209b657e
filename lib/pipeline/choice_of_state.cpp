// Which state a pipeline goes on with: its own, or what others of another number have left.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leat/core/error.hpp"
#include "leat/pipeline/detail/stage_state.hpp"

namespace leat::detail {
namespace {

// What no other rank can go on with.
std::string holding(const std::vector<stage_state>& stages) {
  for (const stage_state& s : stages) {
    if (s.buffer && !s.buffer->held.empty()) return "stage '" + s.name + "' holds elements of";
    if (s.skip > 0) return "stage '" + s.name + "' was in the midst of a run of";
  }
  return {};
}

// One of several that share a source.
struct rank_of_stage {
  std::uint64_t rank = 0;
  std::uint64_t world_size = 1;

  friend bool operator==(const rank_of_stage&, const rank_of_stage&) = default;
  [[nodiscard]] std::string text() const {
    return "rank " + std::to_string(rank) + " of " + std::to_string(world_size);
  }
};

constexpr std::string_view rank_setting = "rank";
constexpr std::string_view world_size_setting = "world_size";

// Those of files are among the choices.
rank_of_stage rank_of(const stage_state& source) {
  rank_of_stage r{source.rank, source.world_size};
  for (const setting& s : source.settings) {
    if (s.name == rank_setting) r.rank = s.value;
    if (s.name == world_size_setting) r.world_size = s.value;
  }
  return r;
}

std::string list_of(const std::vector<stage_state>& stages) {
  std::string all;
  for (const stage_state& s : stages) {
    if (!all.empty()) all += ", ";
    all += s.kind + " '" + s.name + "'";
  }
  return all;
}

// Refuses what was declared otherwise, whichever rank it is.
void require_same(const std::vector<stage_state>& saved, const std::vector<stage_state>& declared,
                  const std::string& name) {
  const auto same_stage = [](const stage_state& a, const stage_state& b) {
    return a.kind == b.kind && a.name == b.name;
  };
  if (!std::ranges::equal(saved, declared, same_stage)) {
    throw failure(errc::failed_precondition, name + ": its stages are " + list_of(declared) +
                                                 ", and were " + list_of(saved) +
                                                 " when the state was saved");
  }
  for (std::size_t i = 0; i < saved.size(); ++i) {
    const auto& then = saved[i].settings;
    const auto& now = declared[i].settings;
    for (std::size_t k = 0; k < now.size(); ++k) {
      const bool known = k < then.size() && then[k].name == now[k].name;
      if (known && then[k].value == now[k].value) continue;
      if (known && (now[k].name == rank_setting || now[k].name == world_size_setting)) continue;
      throw failure(errc::failed_precondition,
                    name + ", stage '" + saved[i].name + "': " + now[k].name + " is " +
                        std::to_string(now[k].value) + ", and was " +
                        (known ? std::to_string(then[k].value) : "unknown") +
                        " when the state was saved");
    }
  }
}

// Refuses what only the same rank can go on with.
void require_shared(const std::vector<stage_state>& saved, const rank_of_stage& here,
                    const std::string& name) {
  const std::string why = holding(saved);
  if (why.empty()) return;
  const rank_of_stage then = rank_of(saved.front());
  throw failure(errc::failed_precondition,
                name + ": " + why + " " + then.text() + ", and this is " + here.text() +
                    ": only that rank can go on with the state; so go on with " +
                    std::to_string(then.world_size) + " ranks, or read_indexed() without a buffer");
}

std::string named(std::string_view pipeline) { return "pipeline '" + std::string(pipeline) + "'"; }

}  // namespace

std::vector<stage_state> state_of(const std::vector<std::string>& one,
                                  const std::vector<stage_state>& declared,
                                  std::string_view pipeline) {
  std::vector<stage_state> saved = stages_from_bytes(one.front(), pipeline);
  const std::string name = named(pipeline);
  require_same(saved, declared, name);
  if (saved.empty()) return saved;
  const rank_of_stage then = rank_of(saved.front());
  const rank_of_stage here = rank_of(declared.front());
  if (then == here) return saved;
  if (saved.front().files) {
    throw failure(errc::failed_precondition, name + ", stage '" + saved.front().name +
                                                 "': this is " + here.text() +
                                                 ", and the state is of " + then.text() +
                                                 ": give restore_ranks() the states of all " +
                                                 std::to_string(then.world_size));
  }
  require_shared(saved, here, name);
  return saved;
}

std::vector<stage_state> state_of_ranks(const std::vector<std::string>& all,
                                        const std::vector<stage_state>& declared,
                                        std::string_view pipeline) {
  const std::string name = named(pipeline);
  const rank_of_stage here = rank_of(declared.front());
  std::vector<std::vector<stage_state>> ranks(all.size());
  for (const std::string& bytes : all) {
    std::vector<stage_state> saved = stages_from_bytes(bytes, pipeline);
    require_same(saved, declared, name);
    const rank_of_stage then = rank_of(saved.front());
    if (then.world_size != all.size() || then.rank >= all.size() || !ranks[then.rank].empty()) {
      throw failure(errc::failed_precondition, name + ": there are " + std::to_string(all.size()) +
                                                   " states, and one of them is of " + then.text() +
                                                   ": give that of each rank, once");
    }
    ranks[then.rank] = std::move(saved);
  }
  if (all.empty()) {
    throw failure(errc::failed_precondition, name + ": there is no state: give that of each rank");
  }
  if (here.world_size == all.size()) return std::move(ranks[here.rank]);
  for (const auto& saved : ranks) require_shared(saved, here, name);
  std::vector<stage_state> merged = ranks.front();
  stage_state& source = merged.front();
  for (const auto& saved : ranks) {
    const stage_state& s = saved.front();
    if (s.files) source.of_ranks.push_back(*s.files);
    if (s.reader == source.reader && s.seed == source.seed) continue;
    throw failure(errc::failed_precondition,
                  name + ", stage '" + s.name + "': " + rank_of(s).text() +
                      " stands elsewhere than " + rank_of(source).text() +
                      ": save where all have had equally many records");
  }
  return merged;
}

}  // namespace leat::detail
