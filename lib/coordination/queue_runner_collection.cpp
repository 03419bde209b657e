#include "leat/coordination/queue_runner_collection.hpp"

#include <algorithm>

#include "base/internal/standard_error.hpp"
#include "coordination/internal/name_scope.hpp"

namespace LEAT {

void queue_runner_collection::add(queue_runner& runner, std::string_view list) {
  std::vector<queue_runner*>& in = lists_[std::string(list)];
  if (std::find(in.begin(), in.end(), &runner) == in.end()) in.push_back(&runner);
}

std::vector<queue_runner*> queue_runner_collection::runners(std::string_view list,
                                                            std::string_view scope) const {
  std::vector<queue_runner*> found;
  const auto at = lists_.find(list);
  if (at == lists_.end()) return found;
  for (queue_runner* r : at->second) {
    if (detail::name_in_scope(r->queue_name(), scope)) found.push_back(r);
  }
  return found;
}

std::vector<queue_runner_handle> queue_runner_collection::start_on(task_owner owner, scheduler* on,
                                                                   std::string_view list) const {
  const std::vector<queue_runner*> all = runners(list);
  if (all.empty()) {
    const std::string name(list);
    detail::print_stderr(
        "leat: queue runner list '%s' is empty, nothing was started: add() a queue "
        "runner first\n",
        name.c_str());
  }
  for (const queue_runner* r : all) r->require_operations();
  std::vector<queue_runner_handle> handles;
  handles.reserve(all.size());
  for (queue_runner* r : all) handles.push_back(r->start_on(owner, on));
  return handles;
}

}  // namespace LEAT
