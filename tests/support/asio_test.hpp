#pragma once

// The parts of Asio that tests of loops and completion tokens share.

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/bind_allocator.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/error.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/system_executor.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>

#include "leat/base/asio.hpp"
#include "support/leat_test.hpp"

// Completion tokens that were experimental before Asio 1.24.
#include LEAT_ASIO(version.hpp)
#if defined(ASIO_VERSION) && ASIO_VERSION < 102400
#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/deferred.hpp>
namespace asio_tokens = asio::experimental;
#else
#include LEAT_ASIO(as_tuple.hpp)
#include LEAT_ASIO(deferred.hpp)
namespace asio_tokens = leat::asio;
#endif
