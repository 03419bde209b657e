#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "async/dump/internal/process_snapshot.hpp"
#include "async/dump/live_objects.hpp"
#include "async/dump_query.hpp"
#include "leat/async/task_scope.hpp"

namespace LEAT::detail {

/// Collects the state of all tasks: each scheduler reports its own tasks in its next turn.
///
/// Thread safety: thread-safe; from within a task too.
class dump_collector {
 public:
  /// `only`: the scope to report, which comes first, with those that its tasks have created; null:
  /// the whole process.
  /// `driven`: schedulers that the calling thread drives and that are between two turns; they are
  /// read directly instead of queried. A scheduler that does not reply within the timeout
  /// `patience` is reported as unresponsive.
  [[nodiscard]] static process_snapshot collect(const task_scope* only, duration patience,
                                                const std::vector<const scheduler*>& driven = {});

  /// The metrics of all queues, primitives and pools; each scheduler with tasks reports those whose
  /// locks its thread owns.
  [[nodiscard]] static live_objects::totals_by_name collect_metrics(duration patience);

  /// The state of the newest task of a scope, on the scheduler of that task.
  [[nodiscard]] static task_state query_first_task(const task_scope& scope);

 private:
  struct replies;         // the replies of the schedulers
  class query;            // queries one scheduler for its tasks
  class selected_scopes;  // the scopes to report
  friend bool is_dump_query(const work_item& item) noexcept;

  [[nodiscard]] static std::vector<scheduler_hold> find_schedulers(std::uint64_t only);
  [[nodiscard]] static std::shared_ptr<replies> query_schedulers(
      std::uint64_t only, duration patience, const std::vector<const scheduler*>& driven,
      bool for_metrics = false);
  [[nodiscard]] static task_state static_info(const task_context& task);
  [[nodiscard]] static task_state query_task(const task_context& task);
  [[nodiscard]] static std::vector<scope_state> make_scope_states(std::uint64_t only,
                                                                  process_snapshot& state,
                                                                  const replies& r);
  static void add_threads(std::vector<scope_state>& all);
  static void name_holders(std::vector<scope_state>& scopes);
  static void add_objects(const std::vector<scope_state>& scopes, process_snapshot& state,
                          const replies& r);
};

}  // namespace LEAT::detail
