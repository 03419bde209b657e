#include "leat/io/backend/routing_backend.hpp"

#include <algorithm>
#include <cerrno>

#include "leat/base/error.hpp"

namespace LEAT {
namespace {

// A prefix ends at the end of a name.
bool is_below(std::string_view path, std::string_view prefix) noexcept {
  return path.starts_with(prefix) &&
         (path.size() == prefix.size() || prefix.ends_with('/') || path[prefix.size()] == '/');
}

}  // namespace

void routing_backend::add(std::string prefix, file_backend& backend) {
  if (prefix.empty()) {
    throw failure(errc::invalid_argument,
                  "routing_backend: prefix is empty: pass this backend to the constructor");
  }
  // Longer prefixes come first, so that backend_for() finds the longest one.
  const auto at = std::ranges::find_if(
      routes_, [&](const auto& route) { return route.first.size() <= prefix.size(); });
  if (std::ranges::find(routes_, prefix, &decltype(routes_)::value_type::first) != routes_.end()) {
    throw failure(errc::invalid_argument,
                  "routing_backend: prefix '" + prefix + "' is already present");
  }
  routes_.emplace(at, std::move(prefix), &backend);
}

file_capabilities routing_backend::capabilities() const noexcept {
  file_capabilities all = otherwise_.capabilities();
  for (const auto& [prefix, backend] : routes_) {
    const file_capabilities c = backend->capabilities();
    all = {.lock = all.lock && c.lock,
           .rename = all.rename && c.rename,
           .truncate = all.truncate && c.truncate,
           .direct = all.direct && c.direct};
  }
  return all;
}

file_backend& routing_backend::backend_for(std::string_view path) noexcept {
  for (const auto& [prefix, backend] : routes_) {
    if (is_below(path, prefix)) return backend->backend_for(path);
  }
  return otherwise_.backend_for(path);
}

file_backend* routing_backend::find_target(file_request& request) noexcept {
  request.result = request.path == nullptr ? -EBADF : -EXDEV;
  if (request.path == nullptr) return nullptr;
  file_backend& target = backend_for(request.path);
  const bool across = request.new_path != nullptr && &backend_for(request.new_path) != &target;
  return across ? nullptr : &target;
}

void routing_backend::submit(file_request& request) noexcept {
  if (file_backend* const target = find_target(request)) {
    target->submit(request);
  } else {
    request.completion_scheduler->post(request);
  }
}

bool routing_backend::try_complete(file_request& request) noexcept {
  file_backend* const target = find_target(request);
  return target == nullptr || target->try_complete(request);
}

void routing_backend::cancel(file_request& request) noexcept {
  if (file_backend* const target = find_target(request)) target->cancel(request);
}

void routing_backend::complete_without_loop(scheduler& sched) noexcept {
  otherwise_.complete_without_loop(sched);
  for (const auto& [prefix, backend] : routes_) backend->complete_without_loop(sched);
}

void routing_backend::execute_blocking(file_request& request) noexcept {
  if (file_backend* const target = find_target(request)) target->execute_blocking(request);
}

int routing_backend::set_direct(int, bool) noexcept { return -EBADF; }

}  // namespace LEAT
