#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "async/dump/process_snapshot.hpp"
#include "async/dump_query.hpp"
#include "leat/async/task_scope.hpp"

namespace leat::detail {

/// Finds out where everyone is: each scheduler reports on its own tasks, in its next turn.
///
/// Thread safety: shared-safe; from within a task too.
class collector {
 public:
  /// `only`: of that scope, which then comes first, and of those that its tasks have made; null: of
  /// the whole process.
  /// `driven`: schedulers between two turns of the calling thread; they are not asked but looked
  /// at. Who does not answer within `patience` is told to be silent.
  [[nodiscard]] static process_state collect(const task_scope* only, duration patience,
                                             const std::vector<const scheduler*>& driven = {});

 private:
  struct finding;  // one task
  struct answers;  // what the schedulers said
  class inquiry;   // asks one scheduler where its tasks are
  class chosen;    // the scopes that are asked about
  friend bool is_inquiry(const work_item& item) noexcept;

  [[nodiscard]] static std::vector<scheduler_hold> homes_of(std::uint64_t only);
  [[nodiscard]] static std::shared_ptr<answers> ask(std::uint64_t only, duration patience,
                                                    const std::vector<const scheduler*>& driven);
  [[nodiscard]] static task_state known_of(const context& task);
  [[nodiscard]] static task_state told_by(const context& task);
  [[nodiscard]] static std::vector<scope_state> scopes_of(std::uint64_t only, process_state& state,
                                                          const answers& a);
  static void add_threads(std::vector<scope_state>& all);
  static void add_queues(const std::vector<scope_state>& scopes, process_state& state,
                         const answers& a);
};

}  // namespace leat::detail
