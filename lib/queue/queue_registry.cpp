#include "leat/queue/queue_registry.hpp"

#include <optional>

#include "leat/base/error.hpp"

namespace LEAT {
namespace {

[[noreturn]] void throw_queue_error(const std::string& name, const std::string& why) {
  throw failure(errc::invalid_argument, "shared queue '" + name + "': " + why);
}

std::string text_of_limit(std::size_t limit) {
  return limit == unbounded ? "unbounded" : std::to_string(limit);
}

void check_limit(const std::string& name, const char* what, std::size_t there, std::size_t wanted) {
  if (there == wanted) return;
  throw_queue_error(
      name, std::string(what) + " is " + text_of_limit(there) + ", not " + text_of_limit(wanted));
}

// The message contains the existing and the requested value, so that no one has to compare two
// declarations.
void check_text(const std::string& name, const char* what, const std::string& there,
                const std::string& wanted) {
  if (there == wanted) return;
  throw_queue_error(name, std::string(what) + there + ", not " + wanted);
}

template <class TextOf>
std::string text_of_components(const element_spec& spec, TextOf text_of) {
  std::string out;
  for (const component_spec& c : spec) out += (out.empty() ? "(" : ", ") + text_of(c);
  return out + ')';
}

// A shape without a rank promises nothing, so it differs from every shape with a rank.
void check_spec(const std::string& name, const element_spec& there, const element_spec& wanted) {
  const auto types = [](const component_spec& c) { return std::string(leat::to_string(c.type)); };
  check_text(name, "component types are ", text_of_components(there, types),
             text_of_components(wanted, types));
  const auto names = [](const component_spec& c) { return "'" + c.name + "'"; };
  check_text(name, "component names are ", text_of_components(there, names),
             text_of_components(wanted, names));
  for (std::size_t i = 0; i < there.count(); ++i) {
    const partial_shape& is = there[i].shape;
    const partial_shape& asked = wanted[i].shape;
    if (is.has_rank() == asked.has_rank() && is.is_compatible_with(asked)) continue;
    const auto shapes = [](const component_spec& c) { return to_string(c.shape); };
    throw_queue_error(name, "component shapes are " + text_of_components(there, shapes) + ", not " +
                                text_of_components(wanted, shapes));
  }
}

}  // namespace

void detail::registered_queue::check(const registered_queue& wanted) const {
  const shuffle_options& there = options_;
  const shuffle_options& asked = wanted.options_;
  const auto kind = [](const registered_queue& q) {
    return std::string(q.kind_) + (q.spec_ != nullptr ? " of tensors with a spec" : "");
  };
  check_text(name(), "kind is ", kind(*this), kind(wanted));
  if (item_ != wanted.item_) {
    throw_queue_error(name(),
                      std::string("item type is ") + item_.name() + ", not " + wanted.item_.name());
  }
  if (queue_ != wanted.queue_) {
    throw_queue_error(name(), "comparison or weight function has a different type");
  }
  if (spec_ != nullptr) check_spec(name(), *spec_, *wanted.spec_);
  check_limit(name(), "capacity", there.capacity, asked.capacity);
  check_limit(name(), "min_after_dequeue", there.min_after_dequeue, asked.min_after_dequeue);
  check_limit(name(), "max_weight", there.max_weight, asked.max_weight);
  if (there.budget != asked.budget) throw_queue_error(name(), "budget is a different object");
  if (asked.seed && there.seed != asked.seed) {
    throw_queue_error(name(), "seed is " + (there.seed ? std::to_string(*there.seed) : "random") +
                                  ", not " + std::to_string(*asked.seed));
  }
}

std::shared_ptr<void> queue_registry::get(detail::registered_queue wanted) {
  if (wanted.name().empty()) {
    throw_queue_error(
        "", "name is empty: set the name in the options, or construct the queue directly");
  }
  std::string name = wanted.name();
  std::optional<detail::registered_queue> found;
  {
    const detail::thread_lock lock(mutex_);
    // A copy: another thread may erase the entry during check().
    found = queues_.try_emplace(std::move(name), wanted).first->second;
  }
  found->check(wanted);
  return found->object();
}

// A forgotten queue may be destroyed here, outside the lock.
bool queue_registry::erase(const std::string& name) {
  decltype(queues_)::node_type forgotten;
  const detail::thread_lock lock(mutex_);
  forgotten = queues_.extract(name);
  return !forgotten.empty();
}

void queue_registry::clear() {
  decltype(queues_) forgotten;
  const detail::thread_lock lock(mutex_);
  queues_.swap(forgotten);
}

std::size_t queue_registry::size() const noexcept {
  const detail::thread_lock lock(mutex_);
  return queues_.size();
}

}  // namespace LEAT
