#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "leat/coordination/queue_runner.hpp"

namespace leat {

/// Named lists of queue runners, to be started all at once.
///
///     leat::queue_runner_collection runners;
///     runners.add(names);
///     runners.add(records);
///     runners.start(coord);
///
/// Refers to the runners, which must outlive it. It is an object that one makes and passes; there
/// is no list that everybody shares, and so none that keeps what others have left in it.
///
/// Thread safety: thread-compatible.
/// TensorFlow: tf.train.add_queue_runner, tf.train.start_queue_runners.
class queue_runner_collection {
 public:
  /// The list for those who name none.
  static constexpr std::string_view default_list = "queue_runners";

  /// Adds a runner at the end of a list; one that is in it already stays where it is.
  void add(queue_runner& runner, std::string_view list = default_list);

  /// The runners of a list, in order, whose queue is in `scope`: "a/q" is in scope "a"; all are in
  /// the empty scope.
  [[nodiscard]] std::vector<queue_runner*> runners(std::string_view list = default_list,
                                                   std::string_view scope = {}) const;

  /// Starts the runners of a list in order, as queue_runner::start(): the tasks are owned by
  /// `coord`, on the scheduler that runs now or on the one given.
  ///
  /// Returns the handle of each start, false for a runner that ran already. If the list has no
  /// runner, the result is empty and a message is printed on standard error, since a consumer of
  /// its queues would wait indefinitely.
  ///
  /// Errors: invalid_argument when a runner has no operation; then none was started. std::bad_alloc
  ///         in the midst: those before it run, as the coordinator's.
  std::vector<queue_runner_handle> start(coordinator& coord,
                                         std::string_view list = default_list) const;
  std::vector<queue_runner_handle> start(coordinator& coord, scheduler& on,
                                         std::string_view list = default_list) const;

  /// The same without a coordinator: the tasks are owned by `group`.
  std::vector<queue_runner_handle> start(task_group& group,
                                         std::string_view list = default_list) const;
  std::vector<queue_runner_handle> start(task_group& group, scheduler& on,
                                         std::string_view list = default_list) const;

 private:
  template <class Start>
  std::vector<queue_runner_handle> start_each(std::string_view list, Start start) const;

  std::map<std::string, std::vector<queue_runner*>, std::less<>> lists_;
};

}  // namespace leat
