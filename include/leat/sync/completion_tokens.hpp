#pragma once

// The operations on primitives with an Asio completion token, such as async_acquire() and
// async_lock(). leat/sync.hpp includes this header. A file that includes only a primitive's own
// header must include this header as well to call one of these operations. The header is separate
// because it includes most of Asio.

#include "leat/async/loop/completion_tokens.hpp"
