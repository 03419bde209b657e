#include "leat/sync/detail/oneshot_block.hpp"

namespace LEAT::detail {

constinit const wait_operation::kind oneshot_base::receive_kind =
    synchronizer_waiter::kind_of("receive from", "oneshot");
constinit const wait_operation::kind oneshot_base::closed_kind =
    synchronizer_waiter::kind_of("wait for the receiver of", "oneshot");

// An end that leaves while its own operation waits would leave the operation without an end.
void oneshot_base::leave(end which) noexcept {
  const request own = which == end::sender ? request::receiver_leaves : request::value;
  work_list woken;
  {
    const lock_type lock(mutex_);
    for (const synchronizer_waiter* w = waiting_.first(); w; w = waiting_.after(*w)) {
      if (w->request() == own)
        abort_misused("end destroyed while its operation waits: join the waiting task first");
    }
    if (which == end::receiver && reads_ != 0)
      abort_misused("receiver destroyed before the task that receives has resumed: join it first");
    (which == end::sender ? sender_gone_ : receiver_gone_) = true;
    woken = serve();
  }
  wake_all(woken);
  // acq_rel: the last end destroys what the other one has done.
  if (ends_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

}  // namespace LEAT::detail
