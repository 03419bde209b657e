#pragma once

#include <exception>

#include "leat/queue/partial_push_error.hpp"

namespace leat::detail {

// Of a run that did not go in as a whole because its queue had failed: what the queue has failed
// with. Of all else the error itself.
[[nodiscard]] inline std::exception_ptr root_cause(const std::exception_ptr& error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const partial_push_error& e) {
    if (e.cause()) return root_cause(e.cause());
  } catch (...) {  // what it is already
  }
  return error;
}

}  // namespace leat::detail
