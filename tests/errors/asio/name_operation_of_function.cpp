// expect: name_operation() needs a lambda or another function object that is not final
#include <system_error>

#include "leat/async/loop/name_operation.hpp"

void start(void* handler);
auto named() { return leat::name_operation<"start">(start); }
