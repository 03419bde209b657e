// expect: select() needs at least one operation to wait for
#include "leat/async/select.hpp"

leat::task<> run() { co_await leat::select(); }
