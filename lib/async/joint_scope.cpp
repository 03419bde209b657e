#include "leat/async/detail/joint_scope.hpp"

#include <string>
#include <string_view>

#include "leat/async/for_each_concurrent.hpp"
#include "leat/base/error.hpp"

namespace leat::detail {

void joint_scope::fail(std::exception_ptr error) noexcept {
  if (stop_requested() && to_error_code(error) == errc::cancelled) {
    if (!cancelled_) cancelled_ = std::move(error);
    return;
  }
  if (!error_) error_ = std::move(error);
  request_scope_stop();
}

void check_concurrency(std::string_view function, std::size_t limit) {
  if (limit > 0) return;
  throw failure(errc::invalid_argument, std::string(function) +
                                            "(): the limit is 0, so no element would ever be "
                                            "processed: use 1 or more");
}

void throw_stopped_early(std::size_t started) {
  throw failure(errc::cancelled,
                "stopped after " + std::to_string(started) + " elements of the range");
}

}  // namespace leat::detail
