#pragma once

// The operations of queues that take a completion token of Asio: async_push(), async_pop(),
// async_push_many(), async_pop_many(), async_pop_up_to(). leat/queue.hpp includes this header; a
// file that includes a queue's own header includes it as well if it calls one of them. It is apart
// because it includes most of Asio.

#include "leat/queue/detail/async_queue_operation.hpp"
