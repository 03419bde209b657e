#include <cerrno>
#include <memory>

#include "io/backends.hpp"

#if LEAT_HAVE_IO_URING

#include <cstdint>
#include <system_error>
#include <utility>

#include "io/fork.hpp"
#include "io/uring_requests.hpp"
#include "io/worker_pool.hpp"
#include "leat/core/assert.hpp"

namespace leat::detail {
namespace {

constexpr unsigned entries = 128;         // submitted in one go
constexpr unsigned max_in_flight = 1024;  // also the places of the completion queue
constexpr int max_rounds = 8;  // of submitting and reaping in one turn, then sockets have theirs

// A ring that lives in a scheduler's turns: what a turn's tasks submit goes to the kernel in one
// call at the end of the turn, and what is complete by then is reaped at once; for the rest an
// eventfd wakes the event loop.
//
// The context may be run by several threads, one after the other: so the ring is not bound to one
// (no IORING_SETUP_SINGLE_ISSUER), and an eventfd wakes rather than the ring's own descriptor,
// which with deferred task work never would.
class uring_backend final : public file_backend {
 public:
  explicit uring_backend(event_loop_scheduler& home) : home_(home) {
    pump_.self = this;
    pump_.run_ = [](work_item& item) noexcept {
      auto& p = static_cast<pump&>(item);
      p.posted = false;
      p.self->run_pump();
    };
  }

  // 0, or an errno: then this object is of no use.
  int open() {
    io_uring_params how{};
    how.flags = IORING_SETUP_COOP_TASKRUN | IORING_SETUP_CQSIZE;
    how.cq_entries = max_in_flight;
    int error = ::io_uring_queue_init_params(entries, &ring_, &how);
    if (error == -EINVAL) {  // an older kernel
      how = {};
      how.flags = IORING_SETUP_CQSIZE;
      how.cq_entries = max_in_flight;
      error = ::io_uring_queue_init_params(entries, &ring_, &how);
    }
    if (error != 0) return -error;
    open_ = true;
    error = requests_.probe(ring_);
    if (error != 0) return -error;
    try {
      listener_ = home_.make_listener();
    } catch (const std::system_error& e) {
      return e.code().value();
    }
    return -::io_uring_register_eventfd(&ring_, listener_->descriptor());
  }

  ~uring_backend() override {
    if (!open_) return;
    // The requests in a child of fork() are copies of what the parent waits for.
    if (is_of_this_process()) drain();
    ::io_uring_queue_exit(&ring_);
  }

  [[nodiscard]] std::string_view name() const noexcept override { return "io_uring"; }

  bool try_now(file_request& request) noexcept override { return execute_now(request); }

  void run_now(file_request& request) noexcept override { execute(request); }

  void submit(file_request& request) noexcept override {
    LEAT_ASSERT(is_of_this_process(), "a child of fork() must not use its parent's files");
    if (!requests_.begin(request)) {
      workers_.submit(request);
      return;
    }
    waiting_.push_back(request);
    if (++waiting_count_ < entries) {
      post_pump();
    } else {
      run_pump();  // a task that does not wait, such as one that closes many files
    }
  }

 private:
  struct pump : work_item {
    uring_backend* self = nullptr;
    bool posted = false;
  };

  [[nodiscard]] bool is_of_this_process() const noexcept {
    return generation_ == fork_generation();
  }

  void post_pump() noexcept {
    if (std::exchange(pump_.posted, true)) return;
    home_.post(pump_);
  }

  [[nodiscard]] bool can_fill() const noexcept {
    return !waiting_.empty() && in_flight_ < max_in_flight;
  }

  file_request* take_waiting() noexcept {
    auto* const request = static_cast<file_request*>(waiting_.pop_front());
    if (request) --waiting_count_;
    return request;
  }

  // Fills the submission queue; what finds no place stays in line.
  void fill() noexcept {
    while (can_fill()) {
      io_uring_sqe* const sqe = ::io_uring_get_sqe(&ring_);
      if (!sqe) return;  // what stands in the queue is not submitted yet: the next round makes room
      uring_requests::prepare(*sqe, *take_waiting());
      ++in_flight_;
    }
  }

  void run_pump() noexcept {
    for (int round = 0; round < max_rounds; ++round) {
      fill();
      const int submitted = ::io_uring_submit_and_get_events(&ring_);
      const bool retry = submitted == -EINTR || submitted == -EAGAIN || submitted == -EBUSY;
      LEAT_ASSERT(submitted >= 0 || retry, "io_uring_enter failed in a way that it should not");
      if (reap() == 0 && !can_fill() && !retry) break;
    }
    // What has completed runs after this, in the same turn, and may submit more.
    if (can_fill() || ::io_uring_sq_ready(&ring_) > 0) {
      post_pump();
    } else if (in_flight_ > 0) {
      listen();
    }
  }

  // A request that has completed, with its result; null when there is none.
  file_request* take_completed() noexcept {
    io_uring_cqe* cqe = nullptr;
    if (::io_uring_peek_cqe(&ring_, &cqe) != 0) return nullptr;
    auto* const request = static_cast<file_request*>(::io_uring_cqe_get_data(cqe));
    const std::int64_t result = cqe->res;
    ::io_uring_cqe_seen(&ring_, cqe);
    --in_flight_;
    uring_requests::finish(*request, result);
    return request;
  }

  std::size_t reap() noexcept {
    std::size_t reaped = 0;
    while (file_request* const request = take_completed()) {
      ++reaped;
      request->home->post(*request);
    }
    return reaped;
  }

  // The kernel may still write to the buffers of requests that nobody waits for any more.
  void drain() noexcept {
    while (in_flight_ > 0) {
      ::io_uring_submit_and_wait(&ring_, 1);
      while (file_request* const request = take_completed()) end(*request);
    }
    while (file_request* const request = take_waiting()) {
      if (request->what == file_request::operation::close) {
        execute(*request);
      } else {
        uring_requests::finish(*request, -ECANCELED);
      }
      end(*request);
    }
  }

  static void end(file_request& request) noexcept {
    request.cancelled = true;  // whatever it ends with, it is not submitted again
    request.run_(request);
  }

  void listen() noexcept {
    if (!std::exchange(listening_, true)) listener_->listen(heard_);
  }

  struct hear : work_item {
    explicit hear(uring_backend& b) noexcept : self(b) {
      run_ = [](work_item& item) noexcept {
        uring_backend& backend = static_cast<hear&>(item).self;
        backend.listening_ = false;
        backend.post_pump();
      };
    }
    uring_backend& self;
  };

  event_loop_scheduler& home_;
  worker_pool& workers_ = worker_pool::instance();
  const unsigned generation_ = fork_generation();
  std::unique_ptr<event_listener> listener_;
  io_uring ring_{};
  uring_requests requests_;
  bool open_ = false;
  bool listening_ = false;
  std::size_t in_flight_ = 0;
  work_list waiting_;
  std::size_t waiting_count_ = 0;
  pump pump_;
  hear heard_{*this};
};

}  // namespace

std::unique_ptr<file_backend> make_uring_backend(event_loop_scheduler& home, int& refusal) {
  auto backend = std::make_unique<uring_backend>(home);
  refusal = backend->open();
  if (refusal != 0) return nullptr;
  return backend;
}

}  // namespace leat::detail

#else

namespace leat::detail {

std::unique_ptr<file_backend> make_uring_backend(event_loop_scheduler&, int& refusal) {
  refusal = ENOSYS;
  return nullptr;
}

}  // namespace leat::detail

#endif
