#pragma once

// The primitives with which tasks exclude each other and wait for each other.

#include "leat/sync/broadcast.hpp"
#include "leat/sync/completion_tokens.hpp"
#include "leat/sync/delay_queue.hpp"
#include "leat/sync/event.hpp"
#include "leat/sync/mutex.hpp"
#include "leat/sync/notification.hpp"
#include "leat/sync/oneshot.hpp"
#include "leat/sync/rate_limiter.hpp"
#include "leat/sync/semaphore.hpp"
#include "leat/sync/shared_mutex.hpp"
#include "leat/sync/synchronizer.hpp"
#include "leat/sync/synchronizer_waiter.hpp"
#include "leat/sync/watch.hpp"
