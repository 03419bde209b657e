#pragma once

// Declares the forms of the operations on a queue, which are friends of queue_base.

namespace leat::detail {

template <class Queue, class Operation>
class queue_awaiter;
class blocking_queue_waiter;
template <class Queue, class Operation, class Handler>
class async_queue_operation;
template <class Operation>
class select_branch;
template <class Queue, class PopMany>
struct pop_batch_operation;

}  // namespace leat::detail
