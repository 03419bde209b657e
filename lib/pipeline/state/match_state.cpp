#include "leat/pipeline/state/detail/match_state.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leat/base/error.hpp"
#include "leat/io/index/indexed_reader_state.hpp"
#include "leat/pipeline/state/detail/batch_numbers.hpp"

namespace leat::detail {
namespace {

constexpr std::string_view batch_kind = "batch";
constexpr std::string_view rank_setting = "rank";
constexpr std::string_view world_size_setting = "world_size";

// For sources of files, rank and world size are among the settings.
world_rank rank_of(const stage_state& source) {
  world_rank r = source.world;
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

// Rejects a different declaration; the rank may differ.
void require_same(const std::vector<stage_state>& saved, const std::vector<stage_state>& declared,
                  const std::string& name) {
  const auto same_stage = [](const stage_state& a, const stage_state& b) {
    return a.kind == b.kind && a.name == b.name;
  };
  if (!std::ranges::equal(saved, declared, same_stage)) {
    throw failure(errc::invalid_argument, name + ": stages are " + list_of(declared) +
                                              ", but were " + list_of(saved) +
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
                        std::to_string(now[k].value) + ", but was " +
                        (known ? std::to_string(then[k].value) : "unknown") +
                        " when the state was saved");
    }
  }
}

// Rejects members that no stage of its kind has: ignoring them would lose elements.
void require_own_parts(const std::vector<stage_state>& saved, const std::string& name) {
  constexpr std::string_view inner[] = {"map", "flat_map", "shuffle", batch_kind};
  for (const stage_state& s : saved) {
    const auto throw_if = [&](bool has, const char* what) {
      if (!has) return;
      throw failure(errc::invalid_argument, name + ", stage '" + s.name + "': state contains " +
                                                what + ", which a stage of kind '" + s.kind +
                                                "' never has");
    };
    const bool by_index = s.kind == "read_indexed";
    const bool has_reader = !s.reader.empty() || s.seed || !s.versions.empty() || s.world.rank != 0;
    throw_if(!s.begun.empty() && s.kind != "flat_map", "partly consumed elements");
    throw_if(!s.batches.empty() && s.kind != batch_kind, "batches");
    throw_if(s.buffer && s.kind != "shuffle", "a buffer");
    throw_if(s.files && (by_index || std::ranges::find(inner, s.kind) != std::end(inner)), "files");
    throw_if((has_reader || s.world.world_size != 1) && !by_index,
             "the position of an indexed reader");
  }
}

// The index of the first batch(); elements of later stages come from batches.
std::size_t first_batch(const std::vector<stage_state>& stages) {
  return static_cast<std::size_t>(std::ranges::find(stages, batch_kind, &stage_state::kind) -
                                  stages.begin());
}

// Rejects batches other than those that later stages need, and another order.
void require_own_batches(const std::vector<stage_state>& saved, const std::string& name) {
  const std::size_t first = first_batch(saved);
  batch_numbers wanted;
  for (std::size_t i = saved.size(); i > first; --i) {
    const stage_state& s = saved[i - 1];
    const auto require = [&](bool condition, const char* what) {
      if (condition) return;
      throw failure(errc::invalid_argument,
                    name + ", stage '" + s.name + "': state cannot be restored: " + what);
    };
    const auto require_next = [&](const origin& o) {
      require(o.file == 0 && o.offset == 0 && wanted.index_of(o.index) == o.index,
              "it has elements of a batch that it does not contain");
    };
    if (s.kind == batch_kind) {
      require(wanted.all().size() == s.batches.size(),
              "its batches are not those that later stages had partly consumed");
      wanted = {};
      for (const std::vector<origin>& b : s.batches) {
        require(b.size() <= s.settings.front().value,
                "it has a batch of more elements than batch_size");
        if (i > first + 1) std::ranges::for_each(b, require_next);
      }
    } else {
      for (const begun_element& b : s.begun) require_next(b.what);
    }
  }
}

// Removes the batches that no stage needs, and numbers the others in the order of their requests.
void keep_own_batches(std::vector<stage_state>& stages) {
  const std::size_t first = first_batch(stages);
  batch_numbers wanted;
  for (std::size_t i = stages.size(); i > first; --i) {
    stage_state& s = stages[i - 1];
    if (s.kind == batch_kind) {
      std::vector<std::vector<origin>> kept;
      const batch_numbers named = std::exchange(wanted, {});
      for (const std::uint64_t number : named.all()) {
        kept.push_back(std::move(s.batches[static_cast<std::size_t>(number)]));
      }
      s.batches = std::move(kept);
      if (i == first + 1) break;
      for (std::vector<origin>& b : s.batches) {
        for (origin& o : b) o.index = wanted.index_of(o.index);
      }
    } else {
      for (begun_element& b : s.begun) b.what.index = wanted.index_of(b.what.index);
    }
  }
}

// Returns the batches of each stage, rank after rank, and renumbers them in this order.
std::vector<std::vector<std::vector<origin>>> count_throughout(
    std::vector<std::vector<stage_state>>& ranks) {
  std::vector<std::vector<std::vector<origin>>> all(ranks.front().size());
  for (std::vector<stage_state>& saved : ranks) {
    std::uint64_t before = 0;  // batches of other ranks in the last batch() so far
    for (std::size_t i = 0; i < saved.size(); ++i) {
      for (begun_element& b : saved[i].begun) b.what.index += before;
      for (std::vector<origin>& b : saved[i].batches) {
        for (origin& o : b) o.index += before;
      }
      if (saved[i].kind != batch_kind) continue;
      before = all[i].size();
      std::ranges::move(saved[i].batches, std::back_inserter(all[i]));
    }
  }
  return all;
}

// Rejects elements that stages hold for one rank: other ranks need the states of all ranks.
void require_nothing_held(const std::vector<stage_state>& saved, const world_rank& here,
                          const std::string& name) {
  for (const stage_state& s : saved) {
    const bool holds = (s.buffer && !s.buffer->held.empty()) || !s.begun.empty();
    if (!holds) continue;
    const world_rank then = rank_of(saved.front());
    throw failure(errc::failed_precondition, name + ", stage '" + s.name +
                                                 "': state has elements of " + then.text() +
                                                 ", but this is " + here.text() +
                                                 ": call restore_ranks() with the states of all " +
                                                 std::to_string(then.world_size) + " ranks");
  }
}

// Rejects ranks with different seeds: their orders differ, so several ranks have read some records,
// and no rank has read others.
void require_one_seed(const std::vector<std::vector<stage_state>>& ranks, const std::string& name) {
  const auto seed_of = [](const stage_state& source) {
    return source.files ? source.files->seed : source.seed;
  };
  const stage_state& first = ranks.front().front();
  for (const auto& saved : ranks) {
    const stage_state& s = saved.front();
    if (seed_of(s) == seed_of(first)) continue;
    throw failure(errc::failed_precondition,
                  name + ", stage '" + s.name + "': seeds of " + rank_of(s).text() + " and " +
                      rank_of(first).text() +
                      " differ: only ranks with the same seed can be resharded");
  }
}

// A rank's share of the elements that the stages of other ranks held, taken from the ranks in turn.
class state_distributor {
 public:
  state_distributor(const std::vector<std::vector<stage_state>>& ranks, const world_rank& here)
      : ranks_(ranks), here_(here) {}

  // Sets the elements of the i-th stage.
  void distribute(std::size_t i, stage_state& to) {
    to.begun.clear();
    for (const auto& saved : ranks_) add_share(saved[i].begun, to.begun);
    if (!to.buffer) return;
    to.buffer = buffer_state{.is_share = true};
    for (const auto& saved : ranks_) {
      if (!saved[i].buffer) throw_state_error(to.name, "it contains no shuffle buffer");
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
  const world_rank here_;
  std::uint64_t next_ = 0;
};

// The states of indexed readers of all ranks. A rank that had not started is at the beginning.
void collect_readers(const std::vector<std::vector<stage_state>>& ranks, const std::string& name,
                     stage_state& to) {
  const auto is_open = [](const auto& saved) { return !saved.front().reader.empty(); };
  const auto open = std::ranges::find_if(ranks, is_open);
  if (open == ranks.end()) return;
  const stage_state& known = open->front();
  indexed_reader_state begin =
      indexed_reader_state::from_bytes(known.reader, name + ", stage '" + to.name + "'");
  begin.epoch = begin.position = 0;
  begin.parts.clear();
  for (const auto& saved : ranks) {
    to.readers.push_back(is_open(saved) ? saved.front().reader : begin.to_bytes());
  }
  to.versions = known.versions;
}

std::string named(std::string_view pipeline) { return "pipeline '" + std::string(pipeline) + "'"; }

}  // namespace

std::vector<stage_state> match_own_state(const std::vector<std::string>& one,
                                         const std::vector<stage_state>& declared,
                                         std::string_view pipeline) {
  std::vector<stage_state> saved = stages_from_bytes(one.front(), pipeline);
  const std::string name = named(pipeline);
  require_same(saved, declared, name);
  require_own_parts(saved, name);
  require_own_batches(saved, name);
  if (saved.empty()) return saved;
  const world_rank then = rank_of(saved.front());
  const world_rank here = rank_of(declared.front());
  if (then == here) return saved;
  if (saved.front().files) {
    throw failure(errc::failed_precondition, name + ", stage '" + saved.front().name +
                                                 "': state belongs to " + then.text() +
                                                 ", but this is " + here.text() +
                                                 ": call restore_ranks() with the states of all " +
                                                 std::to_string(then.world_size) + " ranks");
  }
  require_nothing_held(saved, here, name);
  return saved;
}

std::vector<stage_state> reshard_states(const std::vector<std::string>& all,
                                        const std::vector<stage_state>& declared,
                                        std::string_view pipeline) {
  const std::string name = named(pipeline);
  const world_rank here = rank_of(declared.front());
  std::vector<std::vector<stage_state>> ranks(all.size());
  for (const std::string& bytes : all) {
    std::vector<stage_state> saved = stages_from_bytes(bytes, pipeline);
    require_same(saved, declared, name);
    require_own_parts(saved, name);
    require_own_batches(saved, name);
    const world_rank then = rank_of(saved.front());
    if (then.world_size != all.size() || then.rank >= all.size() || !ranks[then.rank].empty()) {
      throw failure(errc::failed_precondition, name + ": " + std::to_string(all.size()) +
                                                   " states were passed, but one belongs to " +
                                                   then.text() +
                                                   ": pass the state of each rank exactly once");
    }
    ranks[then.rank] = std::move(saved);
  }
  if (all.empty()) {
    throw failure(errc::failed_precondition,
                  name + ": no states were passed: pass the state of each rank");
  }
  if (here.world_size == all.size()) return std::move(ranks[here.rank]);
  require_one_seed(ranks, name);
  const auto batches = count_throughout(ranks);
  std::vector<stage_state> merged = ranks.front();
  collect_readers(ranks, name, merged.front());
  state_distributor elements(ranks, here);
  for (std::size_t i = 0; i < merged.size(); ++i) elements.distribute(i, merged[i]);
  for (std::size_t i = 0; i < merged.size(); ++i) merged[i].batches = batches[i];
  keep_own_batches(merged);
  for (const auto& saved : ranks) {
    const stage_state& s = saved.front();
    if (s.files) merged.front().rank_files.push_back(*s.files);
  }
  return merged;
}

}  // namespace leat::detail
