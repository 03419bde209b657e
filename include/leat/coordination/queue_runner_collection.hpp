#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "leat/coordination/queue_runner.hpp"

namespace LEAT {

/// Named lists of queue runners. One call starts all runners of a list.
///
///     leat::queue_runner_collection runners;
///     runners.add(names);
///     runners.add(records);
///     runners.start(coord);
///
/// A collection refers to its runners, which must outlive it. The program creates the collection
/// and passes it to other functions. There is no global list, so a list never has runners that
/// unrelated code has left in it.
///
/// Thread safety: thread-compatible.
/// TensorFlow: tf.train.add_queue_runner, tf.train.start_queue_runners.
class queue_runner_collection {
 public:
  /// The list that calls without a list name use.
  static constexpr std::string_view default_list = "queue_runners";

  /// Adds a runner to the end of a list. A runner that is already in the list keeps its position.
  void add(queue_runner& runner, std::string_view list = default_list);

  /// Returns the runners of a list, in order, whose queue is in `scope`. For example, the queue
  /// "a/q" is in scope "a". All queues are in the empty scope.
  [[nodiscard]] std::vector<queue_runner*> runners(std::string_view list = default_list,
                                                   std::string_view scope = {}) const;

  /// Starts the runners of a list in order, like queue_runner::start(). `owner`, a coordinator or a
  /// task group, owns the tasks, which run on the current or the given scheduler.
  ///
  /// Returns the handle of each start, which is false if the runner was already running. If the
  /// list has no runner, the result is empty and a message is printed to standard error, because a
  /// consumer of its queues would wait indefinitely.
  ///
  /// Errors: invalid_argument if a runner has no operation; no runner is then started.
  ///         std::bad_alloc; the runners that were started before keep running in `owner`.
  std::vector<queue_runner_handle> start(task_owner owner,
                                         std::string_view list = default_list) const {
    return start_on(owner, scheduler::current(), list);
  }
  std::vector<queue_runner_handle> start(task_owner owner, scheduler& on,
                                         std::string_view list = default_list) const {
    return start_on(owner, &on, list);
  }

 private:
  std::vector<queue_runner_handle> start_on(task_owner owner, scheduler* on,
                                            std::string_view list) const;

  std::map<std::string, std::vector<queue_runner*>, std::less<>> lists_;
};

}  // namespace LEAT
