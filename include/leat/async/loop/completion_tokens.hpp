#pragma once

// The operations with an Asio completion token, such as async_pop() and async_lock(). Separate,
// because it includes most of Asio.

#include "leat/async/loop/detail/handled_operation.hpp"
