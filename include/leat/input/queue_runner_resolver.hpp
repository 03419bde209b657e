#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "leat/async/task.hpp"
#include "leat/coordination/enqueue_operation.hpp"
#include "leat/queue/queue_base.hpp"

namespace LEAT {

/// A registry that maps the names in a queue_runner_def to queues and operations of the program.
///
/// There is no global registry: the program creates one and passes it on. The queues must live as
/// long as the runners that were created with it; the operations are copied.
///
/// Thread safety: thread-compatible.
class queue_runner_resolver {
 public:
  /// Adds a queue under its own name.
  /// Errors: already_exists; invalid_argument if the name is empty.
  void add_queue(queue_base& queue);

  /// Adds an enqueue operation; see queue_runner::add().
  /// Errors: like add_queue().
  template <class Operation>
  void add_enqueue(std::string name, Operation operation) {
    add_step(std::move(name), as_enqueue_operation(std::move(operation)));
  }

  /// Adds an operation that closes or cancels.
  /// Errors: like add_queue().
  void add_close(std::string name, std::function<task<void>()> operation);

  /// Returns the queue that was added under `name`. Errors: not_found, with the name.
  [[nodiscard]] queue_base& find_queue(std::string_view name) const;
  /// Returns the operation that was added under `name`. Errors: not_found, with the name.
  [[nodiscard]] const enqueue_operation& find_enqueue(std::string_view name) const;

  /// Returns the operation that was added with add_close(), or no operation if `name` is empty.
  /// Errors: not_found, with the name.
  [[nodiscard]] named_operation find_close(std::string_view name) const;

 private:
  void add_step(std::string name, enqueue_operation step);

  std::map<std::string, queue_base*, std::less<>> queues_;
  std::map<std::string, enqueue_operation, std::less<>> steps_;
  std::map<std::string, std::function<task<void>()>, std::less<>> closes_;
};

}  // namespace LEAT
