#include "leat/sync/detail/async_queue_operation.hpp"

#include <new>

namespace leat::detail {

std::error_code code_of(const std::exception_ptr& error) noexcept {
  if (!error) return {};
  try {
    std::rethrow_exception(error);
  } catch (const std::system_error& e) {
    return e.code();
  } catch (const std::bad_alloc&) {
    return make_error_code(errc::resource_exhausted);
  } catch (...) {
    return make_error_code(errc::unknown);
  }
}

}  // namespace leat::detail
