#include "io/backend/backend_support.hpp"
#include "io/backend/worker_pool.hpp"

namespace LEAT::detail {
namespace {

class thread_backend final : public file_backend {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "threads"; }

  void submit(file_request& request) noexcept override { workers_.submit(request); }

  bool try_complete(file_request& request) noexcept override { return execute_cached(request); }

  void cancel(file_request& request) noexcept override { workers_.cancel(request); }

  void complete_without_loop(scheduler& sched) noexcept override { workers_.cancel_streams(sched); }

  void execute_blocking(file_request& request) noexcept override { execute(request); }

 private:
  worker_pool& workers_ = worker_pool::instance();  // here, where creating it may fail
};

}  // namespace

std::unique_ptr<file_backend> make_thread_backend() { return std::make_unique<thread_backend>(); }

}  // namespace LEAT::detail
