#pragma once

// The queue operations with an Asio completion token: async_push(), async_pop(), async_push_many(),
// async_pop_many() and async_pop_up_to(). leat/queue.hpp includes this header. A file that includes
// only a queue's own header must include this header as well to call one of these operations. The
// header is separate because it includes most of Asio.

#include "leat/async/loop/completion_tokens.hpp"
