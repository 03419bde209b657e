// expect: name_operation() needs a lambda or another function object that is not final
#include <system_error>

#include "leat/async/loop/name_operation.hpp"

struct start final {
  void operator()(auto handler) { handler(std::error_code()); }
};
auto named() { return leat::name_operation<"start">(start()); }
