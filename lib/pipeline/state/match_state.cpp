#include "leat/pipeline/state/detail/match_state.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "leat/base/error.hpp"
#include "leat/pipeline/state/detail/state_defect.hpp"
#include "pipeline/state/state_fields.hpp"

// Compares saved stages with the declared ones. This file knows no kind: a stage_state reads,
// checks and merges what its stage has written.
//
// Invariant: the stages of a state that is accepted have the kinds, names, versions and settings
// of the declared ones, in the same order, except for settings that identify a rank. Each stage
// would write the same bytes again. A batch that a stage refers to is in the state of the last
// batch() before it, and no other batch is in a state.

namespace LEAT::detail {
namespace {

std::string named(std::string_view pipeline) { return "pipeline '" + std::string(pipeline) + "'"; }

std::string titled(const std::string& pipeline, const saved_stage& s) {
  return pipeline + ", stage '" + s.name + "'";
}

std::string list_of(const std::vector<saved_stage>& stages) {
  std::string all;
  for (const saved_stage& s : stages) {
    if (!all.empty()) all += ", ";
    all += s.kind + " '" + s.name + "'";
  }
  return all;
}

void require_same_settings(const std::string& title, const std::vector<setting>& then,
                           const std::vector<setting>& now) {
  for (std::size_t k = 0; k < now.size(); ++k) {
    const bool known = k < then.size() && then[k].name == now[k].name;
    if (known && (now[k].may_differ || then[k].value == now[k].value)) continue;
    throw failure(errc::invalid_argument, title + ": " + now[k].name + " is " +
                                              std::to_string(now[k].value) + ", but was " +
                                              (known ? std::to_string(then[k].value) : "unknown") +
                                              " when the state was saved");
  }
  if (then.size() <= now.size()) return;
  const setting& extra = then[now.size()];
  throw failure(errc::invalid_argument,
                title + ": " + extra.name + " was " + std::to_string(extra.value) +
                    " when the state was saved, but the stage has no such option: restore it with "
                    "the version of leat that saved it");
}

// Rejects a different declaration; the rank may differ.
void require_same(const std::vector<saved_stage>& saved, const std::vector<saved_stage>& declared,
                  const std::string& name) {
  const auto same_stage = [](const saved_stage& a, const saved_stage& b) {
    return a.kind == b.kind && a.name == b.name;
  };
  if (!std::ranges::equal(saved, declared, same_stage)) {
    throw failure(errc::invalid_argument, name + ": stages are " + list_of(declared) +
                                              ", but were " + list_of(saved) +
                                              " when the state was saved");
  }
  for (std::size_t i = 0; i < saved.size(); ++i) {
    const std::string title = titled(name, saved[i]);
    if (saved[i].version != declared[i].version) {
      throw failure(errc::unimplemented, title + ": state has version " +
                                             std::to_string(saved[i].version) +
                                             ", but this version of leat reads only version " +
                                             std::to_string(declared[i].version));
    }
    require_same_settings(title, saved[i].settings, declared[i].settings);
  }
}

// Calls `part`, and adds the stage to its error.
template <class Part>
void with_title(const std::string& title, Part part) {
  try {
    part();
  } catch (const state_defect& d) {
    throw failure(d.code, title + ": state " + d.why);
  } catch (const protozero::exception&) {
    throw failure(errc::invalid_argument,
                  title + ": state cannot be restored: its bytes are not the state of a stage");
  }
}

// Lets each stage name the batches that it needs, from the last stage back.
void number_batches(const stage_states& states, const std::vector<saved_stage>& declared,
                    const std::string& name, bool checks) {
  const auto makes = [](const auto& s) { return s->makes_batches(); };
  const auto first = static_cast<std::size_t>(std::ranges::find_if(states, makes) - states.begin());
  batch_numbers wanted(checks);
  for (std::size_t i = states.size(); i-- > first;) {
    with_title(titled(name, declared[i]), [&] { states[i]->number_batches(wanted, i > first); });
  }
}

stage_states read_states(std::string_view bytes, const std::vector<saved_stage>& declared,
                         std::string_view pipeline) {
  const std::vector<saved_stage> saved = stages_from_bytes(bytes, pipeline);
  const std::string name = named(pipeline);
  require_same(saved, declared, name);
  stage_states states;
  for (std::size_t i = 0; i < saved.size(); ++i) {
    stage_state& s = *states.emplace_back(declared[i].make());
    with_title(titled(name, saved[i]), [&] {
      s.read(saved[i].own, saved[i].settings);
      if (s.write() != saved[i].own) throw state_defect{other_form_error};
    });
  }
  number_batches(states, declared, name, true);
  return states;
}

world_rank declared_rank(const saved_stage& source) {
  const std::unique_ptr<stage_state> s = source.make();
  s->read(source.own, source.settings);
  return s->world();
}

// Rejects what depends on another rank: this needs the states of all ranks.
void require_no_bonds(const stage_states& states, const std::vector<saved_stage>& declared,
                      world_rank here, const std::string& name) {
  const world_rank then = states.front()->world();
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::string bond(states[i]->rank_bond());
    if (bond.empty()) continue;
    throw failure(errc::failed_precondition, titled(name, declared[i]) + ": state " + bond + " " +
                                                 then.text() + ", but this is " + here.text() +
                                                 ": call restore_ranks() with the states of all " +
                                                 std::to_string(then.world_size) + " ranks");
  }
}

}  // namespace

stage_states match_own_state(const std::vector<std::string>& one,
                             const std::vector<saved_stage>& declared, std::string_view pipeline) {
  stage_states states = read_states(one.front(), declared, pipeline);
  if (states.empty()) return states;
  const world_rank here = declared_rank(declared.front());
  if (states.front()->world() != here) require_no_bonds(states, declared, here, named(pipeline));
  return states;
}

stage_states reshard_states(const std::vector<std::string>& all,
                            const std::vector<saved_stage>& declared, std::string_view pipeline) {
  const std::string name = named(pipeline);
  const world_rank here = declared_rank(declared.front());
  std::vector<stage_states> ranks(all.size());
  for (const std::string& bytes : all) {
    stage_states states = read_states(bytes, declared, pipeline);
    const world_rank then = states.front()->world();
    if (then.world_size != all.size() || then.rank >= all.size() || !ranks[then.rank].empty()) {
      throw failure(errc::failed_precondition, name + ": " + std::to_string(all.size()) +
                                                   " states were passed, but one belongs to " +
                                                   then.text() +
                                                   ": pass the state of each rank exactly once");
    }
    ranks[then.rank] = std::move(states);
  }
  if (all.empty()) {
    throw failure(errc::failed_precondition,
                  name + ": no states were passed: pass the state of each rank");
  }
  if (here.world_size == all.size()) return std::move(ranks[here.rank]);
  stage_states merged;
  rank_share share;
  share.here = here;
  share.first_batch.resize(all.size());
  for (std::size_t i = 0; i < declared.size(); ++i) {
    std::vector<const stage_state*> of_stage;
    for (const stage_states& states : ranks) of_stage.push_back(states[i].get());
    share.stage = titled(name, declared[i]);
    stage_state& s = *merged.emplace_back(declared[i].make());
    with_title(share.stage, [&] { s.merge(of_stage, share); });
  }
  number_batches(merged, declared, name, false);
  return merged;
}

}  // namespace LEAT::detail
