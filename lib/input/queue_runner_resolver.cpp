#include "leat/input/queue_runner_resolver.hpp"

#include "leat/base/error.hpp"

namespace LEAT {
namespace {

template <class Map, class Value>
void add_to(Map& map, const char* kind, std::string name, Value value) {
  if (name.empty()) {
    throw failure(errc::invalid_argument,
                  std::string(kind) + " has no name: register it under a non-empty name");
  }
  const auto [at, added] = map.try_emplace(std::move(name), std::move(value));
  if (!added) {
    throw failure(errc::already_exists, std::string(kind) + " '" + at->first +
                                            "' is already registered: use a different name");
  }
}

template <class Map>
const auto& find_in(const Map& map, const char* kind, std::string_view name) {
  const auto at = map.find(name);
  if (at == map.end()) {
    throw failure(errc::not_found, std::string(kind) + " '" + std::string(name) +
                                       "' is not registered: add it to the queue_runner_resolver");
  }
  return at->second;
}

}  // namespace

void queue_runner_resolver::add_queue(queue_base& queue) {
  add_to(queues_, "queue", queue.name(), &queue);
}

void queue_runner_resolver::add_step(std::string name, enqueue_operation step) {
  add_to(steps_, "enqueue operation", std::move(name), std::move(step));
}

void queue_runner_resolver::add_close(std::string name, std::function<task<void>()> operation) {
  add_to(closes_, "close operation", std::move(name), std::move(operation));
}

queue_base& queue_runner_resolver::find_queue(std::string_view name) const {
  return *find_in(queues_, "queue", name);
}

const enqueue_operation& queue_runner_resolver::find_enqueue(std::string_view name) const {
  return find_in(steps_, "enqueue operation", name);
}

named_operation queue_runner_resolver::find_close(std::string_view name) const {
  if (name.empty()) return {};
  return {std::string(name), find_in(closes_, "close operation", name)};
}

}  // namespace LEAT
