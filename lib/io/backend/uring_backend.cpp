#include <cerrno>
#include <memory>

#include "io/backend/backend_support.hpp"

#if LEAT_HAVE_IO_URING

#include <cstdint>
#include <system_error>
#include <utility>

#include "base/internal/fork_generation.hpp"
#include "files/internal/buffer_ownership.hpp"
#include "io/backend/uring_requests.hpp"
#include "io/backend/worker_pool.hpp"
#include "leat/base/internal/assert.hpp"

namespace LEAT::detail {
namespace {

constexpr unsigned entries = 128;  // submitted at once
// The kernel keeps completions beyond these until they are reaped (IORING_FEAT_NODROP).
constexpr unsigned completions = 1024;
constexpr int max_rounds = 8;  // of submitting and reaping per iteration; then sockets are polled

// A ring that works in the loop iterations of a scheduler. At the end of an iteration, one call
// submits the requests of its tasks, and completed ones are reaped at once. For the others, an
// eventfd wakes the event loop.
//
// Several threads may run the context one after another. So the ring is not bound to one thread (no
// IORING_SETUP_SINGLE_ISSUER), and an eventfd wakes it instead of the ring's own descriptor, which
// would never become ready with deferred task work.
//
// A request is in one of three places: in waiting_, until the submission queue has space; in the
// queue or the kernel, counted in in_flight_; or with the worker threads, which post it to the
// scheduler themselves. Cancellations are counted in in_flight_ too.
//
// The pump is a work item that is posted at most once. It submits and reaps, posts itself again
// while requests are left to submit, and otherwise listens to the eventfd while any is in flight. A
// completion between the last reap and the listening is not lost: the listener also reports an
// earlier write to the eventfd.
//
// Everything runs on the thread that runs or destroys the scheduler, so there is no lock.
class uring_backend final : public file_backend {
 public:
  explicit uring_backend(event_loop_scheduler& sched) : scheduler_(sched) {
    pump_.self = this;
    pump_.run_ = [](work_item& item) noexcept {
      auto& p = static_cast<pump&>(item);
      p.posted = false;
      p.self->run_pump();
    };
  }

  // 0, or an errno: then this object must not be used.
  int open() {
    io_uring_params how{};
    how.flags = IORING_SETUP_COOP_TASKRUN | IORING_SETUP_CQSIZE;
    how.cq_entries = completions;
    int error = ::io_uring_queue_init_params(entries, &ring_, &how);
    if (error == -EINVAL) {  // an older kernel
      how = {};
      how.flags = IORING_SETUP_CQSIZE;
      how.cq_entries = completions;
      error = ::io_uring_queue_init_params(entries, &ring_, &how);
    }
    if (error != 0) return -error;
    open_ = true;
    if ((how.features & IORING_FEAT_NODROP) == 0) return ENOSYS;
    error = requests_.probe(ring_);
    if (error == 0) error = enter();
    if (error != 0) return -error;
    try {
      listener_ = scheduler_.make_listener();
    } catch (const std::system_error& e) {
      return e.code().value();
    }
    return -::io_uring_register_eventfd(&ring_, listener_->descriptor());
  }

  ~uring_backend() override {
    if (!open_) return;
    // The requests in a child of fork() are copies of those that the parent waits for.
    if (is_in_its_process()) drain();
    ::io_uring_queue_exit(&ring_);
  }

  [[nodiscard]] std::string_view name() const noexcept override { return "io_uring"; }

  bool try_complete(file_request& request) noexcept override { return execute_cached(request); }

  void execute_blocking(file_request& request) noexcept override { execute(request); }

  void cancel(file_request& request) noexcept override {
    request.cancelled = true;
    io_uring_sqe* sqe = ::io_uring_get_sqe(&ring_);
    while (!sqe) {
      run_pump();  // frees an entry
      sqe = ::io_uring_get_sqe(&ring_);
    }
    // The kernel finds nothing if the request is still in waiting_; then fill() ends it.
    ::io_uring_prep_cancel(sqe, &request, 0);
    ::io_uring_sqe_set_data(sqe, nullptr);
    // A cancellation has a completion of its own, without data.
    ++in_flight_;
    post_pump();
  }

  void complete_without_loop(scheduler& sched) noexcept override {
    while (file_request* const request = first_to_cancel()) cancel(*request);
    if (in_flight_ > 0 || !waiting_.empty()) run_pump();
    workers_.cancel_streams(sched);
  }

  void submit(file_request& request) noexcept override {
    LEAT_ASSERT(is_in_its_process(),
                "file of the parent used in a child of fork(): open files in the child");
    if (!requests_.begin(request)) {
      workers_.submit(request);
      return;
    }
    mark_kernel_owned(request);
    enqueue(request);
    if (waiting_count_ < entries) {
      post_pump();
    } else {
      run_pump();  // for a task that never waits, such as one that closes many files
    }
  }

 private:
  struct pump : work_item {
    uring_backend* self = nullptr;
    bool posted = false;
  };

  // A sandbox may allow the creation of a ring but not its use. Returns 0, or a negative errno.
  int enter() noexcept {
    ::io_uring_prep_nop(::io_uring_get_sqe(&ring_));
    int submitted = 0;
    while (is_transient_error(submitted = ::io_uring_submit_and_wait(&ring_, 1))) {
    }
    if (submitted < 0) return submitted;
    io_uring_cqe* cqe = nullptr;
    while (::io_uring_wait_cqe(&ring_, &cqe) == -EINTR) {
    }
    if (cqe) ::io_uring_cqe_seen(&ring_, cqe);
    return 0;
  }

  static bool is_transient_error(int error) noexcept {
    return error == -EINTR || error == -EAGAIN || error == -EBUSY;
  }

  [[nodiscard]] bool is_in_its_process() const noexcept { return generation_ == fork_generation(); }

  void post_pump() noexcept {
    if (std::exchange(pump_.posted, true)) return;
    scheduler_.post(pump_);
  }

  file_request* take_waiting() noexcept {
    auto* const request = static_cast<file_request*>(waiting_.pop_front());
    if (request) --waiting_count_;
    return request;
  }

  // Returns true if the request polls its stream: then the kernel uses no memory of the caller.
  static bool is_poll(const file_request& r) noexcept {
    return is_stream_transfer(r) && r.backend_data == nullptr;
  }

  // Fills the submission queue; requests that do not fit remain in `waiting_`.
  void fill() noexcept {
    while (!waiting_.empty() && ::io_uring_sq_space_left(&ring_) > 0) {
      file_request& request = *take_waiting();
      if (request.cancelled) {
        request.result = -ECANCELED;
        complete(request);
        continue;
      }
      if (is_poll(request)) {
        ++polls_;
        polling_.push_back(request);
      }
      ++in_flight_;
      uring_requests::prepare(*::io_uring_get_sqe(&ring_), request);
    }
  }

  void run_pump() noexcept {
    for (int round = 0; round < max_rounds; ++round) {
      fill();
      // Enters the kernel even if there is nothing to submit: with IORING_SETUP_COOP_TASKRUN, it
      // finishes some completions only then.
      const int submitted = ::io_uring_submit_and_get_events(&ring_);
      const bool retry = is_transient_error(submitted);
      LEAT_ASSERT(submitted >= 0 || retry, "io_uring_enter failed with an unexpected error");
      if (reap() == 0 && waiting_.empty() && !retry) break;
    }
    // Completed operations run after this, in the same loop iteration, and may submit more.
    if (!waiting_.empty() || ::io_uring_sq_ready(&ring_) > 0) {
      post_pump();
    } else if (in_flight_ > 0) {
      listen();
    }
  }

  // Processes completions and returns their number; passes each finished request to `ended`.
  template <class Ended>
  std::size_t reap(Ended ended) noexcept {
    using next_step = uring_requests::next_step;
    std::size_t reaped = 0;
    for (io_uring_cqe* cqe = nullptr; ::io_uring_peek_cqe(&ring_, &cqe) == 0; ++reaped) {
      auto* const request = static_cast<file_request*>(::io_uring_cqe_get_data(cqe));
      const std::int64_t result = cqe->res;
      ::io_uring_cqe_seen(&ring_, cqe);
      --in_flight_;
      if (!request) continue;  // the completion of a cancellation
      if (is_poll(*request)) {
        --polls_;
        remove_from(polling_, *request);
      }
      switch (uring_requests::finish(*request, result)) {
        case next_step::none: ended(*request); break;
        case next_step::ring: enqueue(*request); break;
        case next_step::workers: workers_.submit(*request); break;
      }
    }
    return reaped;
  }

  std::size_t reap() noexcept { return reap(&complete); }

  // Returns the first polled request that was not cancelled, or null.
  file_request* first_to_cancel() const noexcept {
    for (work_item* item = polling_.front(); item; item = item->next_) {
      auto* const request = static_cast<file_request*>(item);
      if (!request->cancelled) return request;
    }
    return nullptr;
  }

  static void remove_from(work_list& list, const work_item& item) noexcept {
    work_list rest;
    while (work_item* const other = list.pop_front()) {
      if (other != &item) rest.push_back(*other);
    }
    list = std::move(rest);
  }

  static void complete(file_request& request) noexcept {
    mark_user_owned(request);
    request.completion_scheduler->post(request);
  }

  void enqueue(file_request& request) noexcept {
    waiting_.push_back(request);
    ++waiting_count_;
  }

  // The kernel may still write to the buffers of abandoned requests.
  void drain() noexcept {
    const auto end = [](file_request& request) noexcept {
      mark_user_owned(request);
      request.cancelled = true;  // it is not submitted again, with any result
      request.run_(request);
    };
    // The kernel uses no memory of a poll, and closing the ring cancels it.
    while (in_flight_ > polls_) {
      ::io_uring_submit_and_wait(&ring_, 1);
      reap(end);
    }
    // A descriptor must be closed; all other requests fail. finish() frees what begin() allocated.
    while (file_request* const request = take_waiting()) {
      if (request->what == file_request::operation::close) {
        execute(*request);
      } else {
        static_cast<void>(uring_requests::finish(*request, -ECANCELED));
      }
      end(*request);
    }
  }

  void listen() noexcept {
    if (!scheduler_.is_ending() && !std::exchange(listening_, true)) listener_->listen(wakeup_);
  }

  struct wakeup_handler : work_item {
    explicit wakeup_handler(uring_backend& b) noexcept : self(b) {
      run_ = [](work_item& item) noexcept {
        uring_backend& backend = static_cast<wakeup_handler&>(item).self;
        backend.listening_ = false;
        backend.post_pump();
      };
    }
    uring_backend& self;
  };

  event_loop_scheduler& scheduler_;
  worker_pool& workers_ = worker_pool::instance();
  const unsigned generation_ = fork_generation();
  std::unique_ptr<event_listener> listener_;
  io_uring ring_{};
  uring_requests requests_;
  bool open_ = false;
  bool listening_ = false;
  std::size_t in_flight_ = 0;  // in the kernel or in the submission queue
  std::size_t polls_ = 0;      // of these
  work_list polling_;          // the same requests
  work_list waiting_;
  std::size_t waiting_count_ = 0;
  pump pump_;
  wakeup_handler wakeup_{*this};
};

}  // namespace

std::unique_ptr<file_backend> make_uring_backend(event_loop_scheduler& sched, int& refusal) {
  auto backend = std::make_unique<uring_backend>(sched);
  refusal = backend->open();
  if (refusal != 0) return nullptr;
  return backend;
}

}  // namespace LEAT::detail

#else

namespace LEAT::detail {

std::unique_ptr<file_backend> make_uring_backend(event_loop_scheduler&, int& refusal) {
  refusal = ENOSYS;
  return nullptr;
}

}  // namespace LEAT::detail

#endif
