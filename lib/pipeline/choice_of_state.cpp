// Which state a pipeline goes on with: its own, or what others of another number have left.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leat/core/error.hpp"
#include "leat/io/indexed_reader_state.hpp"
#include "leat/pipeline/detail/stage_state.hpp"

namespace leat::detail {
namespace {

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
constexpr std::string_view shard_remainder_setting = "shard.last";
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
    throw failure(errc::invalid_argument, name + ": its stages are " + list_of(declared) +
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
      throw failure(errc::invalid_argument,
                    name + ", stage '" + saved[i].name + "': " + now[k].name + " is " +
                        std::to_string(now[k].value) + ", and was " +
                        (known ? std::to_string(then[k].value) : "unknown") +
                        " when the state was saved");
    }
  }
}

// Refuses what no stage of its kind has in a state: to pass over it would be to go on without it.
void require_own_parts(const std::vector<stage_state>& saved, const std::string& name) {
  constexpr std::string_view inner[] = {"map", "flat_map", "shuffle", "batch"};
  for (const stage_state& s : saved) {
    const auto refuse_if = [&](bool has, const char* what) {
      if (!has) return;
      throw failure(errc::invalid_argument, name + ", stage '" + s.name + "': the state has " +
                                                what + ", which such a stage never has");
    };
    const bool by_index = s.kind == "read_indexed";
    const bool has_reader = !s.reader.empty() || s.seed || !s.marks.empty() || s.rank != 0;
    refuse_if(s.skip > 0 && s.kind != "flat_map", "elements to leave out");
    refuse_if(!s.begun.empty() && s.kind != "flat_map", "elements that were begun");
    refuse_if(s.buffer && s.kind != "shuffle", "a buffer");
    refuse_if(s.files && (by_index || std::ranges::find(inner, s.kind) != std::end(inner)),
              "files");
    refuse_if((has_reader || s.world_size != 1) && !by_index, "a reader by an index");
  }
}

// Refuses what a stage has of one rank: others get it from the states of all.
void require_nothing_held(const std::vector<stage_state>& saved, const rank_of_stage& here,
                          const std::string& name) {
  for (const stage_state& s : saved) {
    const bool holds = (s.buffer && !s.buffer->held.empty()) || !s.begun.empty() || s.skip > 0;
    if (!holds) continue;
    const rank_of_stage then = rank_of(saved.front());
    throw failure(errc::failed_precondition,
                  name + ", stage '" + s.name + "': it has elements of " + then.text() +
                      ", and this is " + here.text() + ": give restore_ranks() the states of all " +
                      std::to_string(then.world_size));
  }
}

// Refuses elements that are made of several, such as a batch, and were had in part: by what others
// go on with, none is made of the same ones again.
void require_origins(const std::vector<stage_state>& saved, const rank_of_stage& here,
                     const std::string& name) {
  for (const stage_state& s : saved) {
    if (s.skip == 0) continue;
    const rank_of_stage then = rank_of(saved.front());
    throw failure(errc::failed_precondition,
                  name + ", stage '" + s.name + "': " + then.text() +
                      " was in the midst of what it makes of a batch, and this is " + here.text() +
                      ": only that rank can go on with the state; so go on with " +
                      std::to_string(then.world_size) + " ranks, or let it stand before batch()");
  }
}

// Refuses ranks of which each has an order of its own: some of what there is has been read by
// several, and some by none.
void require_one_seed(const std::vector<std::vector<stage_state>>& ranks, const std::string& name) {
  const auto seed_of = [](const stage_state& source) {
    return source.files ? source.files->seed : source.seed;
  };
  const stage_state& first = ranks.front().front();
  for (const auto& saved : ranks) {
    const stage_state& s = saved.front();
    if (seed_of(s) == seed_of(first)) continue;
    throw failure(errc::failed_precondition,
                  name + ", stage '" + s.name + "': the seed of " + rank_of(s).text() +
                      " is another one than that of " + rank_of(first).text());
  }
}

// What a rank gets of the elements that stages of others had: each of one rank in turn.
class dealer {
 public:
  dealer(const std::vector<std::vector<stage_state>>& ranks, const rank_of_stage& here)
      : ranks_(ranks), here_(here) {}

  // Of the i-th stage.
  void deal(std::size_t i, stage_state& to) {
    to.begun.clear();
    for (const auto& saved : ranks_) add_share(saved[i].begun, to.begun);
    if (!to.buffer) return;
    to.buffer = buffer_state{.is_share = true};
    for (const auto& saved : ranks_) {
      if (!saved[i].buffer) refuse_state(to.name, "its state is not of a buffer");
      to.buffer->draws = std::max(to.buffer->draws, saved[i].buffer->draws);
      add_share(saved[i].buffer->held, to.buffer->held);
    }
    to.buffer->seed = ranks_[here_.rank % ranks_.size()][i].buffer->seed;
  }

 private:
  template <class T>
  void add_share(const std::vector<T>& of, std::vector<T>& to) {
    for (const T& each : of) {
      if (next_++ % here_.world_size == here_.rank) to.push_back(each);
    }
  }

  const std::vector<std::vector<stage_state>>& ranks_;
  const rank_of_stage here_;
  std::uint64_t next_ = 0;
};

// What readers by an index have left, as the state of all of them.
void merge_readers(const std::vector<std::vector<stage_state>>& ranks, const std::string& name,
                   stage_state& to) {
  const auto is_open = [](const auto& saved) { return !saved.front().reader.empty(); };
  const auto open = std::ranges::find_if(ranks, is_open);
  if (open == ranks.end()) return;
  const stage_state& known = open->front();
  const std::string title = name + ", stage '" + to.name + "'";
  std::vector<indexed_reader_state> places;
  for (const auto& saved : ranks) {
    places.push_back(indexed_reader_state::from_bytes(
        is_open(saved) ? saved.front().reader : known.reader, title));
    if (is_open(saved)) continue;
    places.back().epoch = places.back().position = 0;
    places.back().parts.clear();
  }
  const auto last = std::ranges::find(to.settings, shard_remainder_setting, &setting::name);
  const bool is_set = last != to.settings.end();
  const auto remainder = static_cast<shard_remainder>(is_set ? last->value : 0);
  to.reader = indexed_reader_state::left_of(places, remainder, title).to_bytes();
  to.marks = known.marks;
}

std::string named(std::string_view pipeline) { return "pipeline '" + std::string(pipeline) + "'"; }

}  // namespace

std::vector<stage_state> state_of(const std::vector<std::string>& one,
                                  const std::vector<stage_state>& declared,
                                  std::string_view pipeline) {
  std::vector<stage_state> saved = stages_from_bytes(one.front(), pipeline);
  const std::string name = named(pipeline);
  require_same(saved, declared, name);
  require_own_parts(saved, name);
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
  require_nothing_held(saved, here, name);
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
    require_own_parts(saved, name);
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
  require_one_seed(ranks, name);
  for (const auto& saved : ranks) require_origins(saved, here, name);
  std::vector<stage_state> merged = ranks.front();
  merge_readers(ranks, name, merged.front());
  dealer elements(ranks, here);
  for (std::size_t i = 0; i < merged.size(); ++i) elements.deal(i, merged[i]);
  for (const auto& saved : ranks) {
    const stage_state& s = saved.front();
    if (s.files) merged.front().of_ranks.push_back(*s.files);
  }
  return merged;
}

}  // namespace leat::detail
