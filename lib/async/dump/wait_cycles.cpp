#include "async/dump/wait_cycles.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include "async/dump/internal/dump_printers.hpp"

namespace LEAT::detail {
namespace {

constexpr std::size_t no_node = SIZE_MAX;

// A task or a thread, and the tasks that it waits for.
struct node {
  task_id id;
  const std::string& name;
  const std::optional<wait_state>& waiting;
  std::vector<std::size_t> waits_for = {};
  bool needs_all = false;  // all of them, not any one
  bool stuck = false;
};

// Finds the nodes that can never proceed, and then the cycles among them.
//
// At first each node that waits for known nodes counts as stuck. unmark_runnable() removes the mark
// from the nodes that can proceed, until no more can. Each node that is left has at least one stuck
// successor, so a walk along stuck successors reaches a node that it has visited before. If the
// same walk has visited it, the cycle is new; an earlier walk has found it otherwise.
class wait_graph {
 public:
  wait_graph(const std::vector<scope_state>& scopes, bool partial)
      : scopes_(scopes), partial_(partial) {
    for (const scope_state& s : scopes) {
      for (const task_state& t : s.tasks) nodes_.push_back({t.id, t.name, t.waiting});
      for (const thread_state& t : s.threads) nodes_.push_back({t.id, t.name, t.waiting});
    }
    for (node& n : nodes_) connect(n);
  }

  [[nodiscard]] std::vector<wait_cycle> cycles() {
    unmark_runnable();
    std::vector<wait_cycle> found;
    std::vector<std::size_t> visited_from(nodes_.size(), no_node);
    for (std::size_t start = 0; start < nodes_.size(); ++start) {
      std::size_t at = start;
      while (nodes_[at].stuck && visited_from[at] == no_node) {
        visited_from[at] = start;
        at = stuck_successor(nodes_[at]);
      }
      if (nodes_[at].stuck && visited_from[at] == start) found.push_back(cycle_through(at));
    }
    return found;
  }

 private:
  [[nodiscard]] std::size_t find(task_id id) const {
    const auto at =
        std::find_if(nodes_.begin(), nodes_.end(), [&](const node& n) { return n.id == id; });
    return at == nodes_.end() ? no_node : static_cast<std::size_t>(at - nodes_.begin());
  }

  // Returns true if the task may exist elsewhere and may be running.
  [[nodiscard]] bool may_be_elsewhere(task_id id) const {
    if (id == task_id{}) return true;
    return partial_ && std::none_of(scopes_.begin(), scopes_.end(),
                                    [&](const scope_state& s) { return s.number == id.scope; });
  }

  void connect(node& n) {
    if (!n.waiting) return;
    const wait_target& object = n.waiting->object;
    if (object.scope != 0) {
      n.needs_all = true;
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i].id.scope == object.scope) n.waits_for.push_back(i);
      }
    }
    for (const task_id partner : object.partners) {
      // A partner that the graph does not contain could end the wait, so the node is not stuck.
      if (may_be_elsewhere(partner)) {
        n.waits_for.clear();
        return;
      }
      if (const std::size_t i = find(partner); i != no_node) n.waits_for.push_back(i);
    }
    n.stuck = !n.waits_for.empty();
  }

  [[nodiscard]] bool can_proceed(const node& n) const {
    const auto is_stuck = [&](std::size_t i) { return nodes_[i].stuck; };
    return n.needs_all ? std::none_of(n.waits_for.begin(), n.waits_for.end(), is_stuck)
                       : !std::all_of(n.waits_for.begin(), n.waits_for.end(), is_stuck);
  }

  void unmark_runnable() {
    for (bool changed = true; changed;) {
      changed = false;
      for (node& n : nodes_) {
        if (!n.stuck || !can_proceed(n)) continue;
        n.stuck = false;
        changed = true;
      }
    }
  }

  [[nodiscard]] std::size_t stuck_successor(const node& n) const {
    return *std::find_if(n.waits_for.begin(), n.waits_for.end(),
                         [&](std::size_t i) { return nodes_[i].stuck; });
  }

  [[nodiscard]] wait_cycle cycle_through(std::size_t first) const {
    wait_cycle cycle{{}, true, {}};
    std::string steps;
    std::size_t at = first;
    do {
      const node& n = nodes_[at];
      const wait_state& w = *n.waiting;
      cycle.tasks.push_back(n.id);
      cycle.certain = cycle.certain && w.object.certain;
      steps += "'" + n.name + "' (" + wait_text(w.verb, w.words) + ") -> ";
      at = stuck_successor(n);
    } while (at != first);
    const std::string probably = cycle.certain ? "" : "probably ";
    const bool alone = cycle.tasks.size() == 1;
    cycle.text = (alone ? "this " + probably + "waits for itself: "
                        : "these " + probably + "wait for each other: ") +
                 steps + "'" + nodes_[first].name + "'";
    return cycle;
  }

  const std::vector<scope_state>& scopes_;
  const bool partial_;
  std::vector<node> nodes_;
};

}  // namespace

std::vector<wait_cycle> find_cycles(const std::vector<scope_state>& scopes, bool partial) {
  return wait_graph(scopes, partial).cycles();
}

}  // namespace LEAT::detail
