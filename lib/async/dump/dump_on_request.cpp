#include "leat/async/dump/dump_on_request.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "async/dump/all_signals_blocked.hpp"
#include "base/internal/standard_descriptors.hpp"
#include "base/internal/thread_not_started.hpp"
#include "leat/base/error.hpp"
#include "leat/base/write_all.hpp"

namespace LEAT {
namespace {

[[noreturn]] void throw_errno(int error, const std::string& what) {
  throw failure(std::error_code(error, std::generic_category()), what);
}

class descriptor {
 public:
  explicit descriptor(int fd) noexcept : fd_(fd) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  const int fd_;
};

int open_to_append(const std::string& file) noexcept {
  const int opened = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  const int number = detail::move_above_standard_descriptors(opened);
  if (number < -1) errno = -number;
  return number < 0 ? -1 : number;
}

// The counter of an eventfd: requests in the lower half, the order to end in the upper half. A
// write adds to it, and a read takes all of it, so requests that arrive during a dump share the
// next one.
constexpr std::uint64_t one_request = 1;
constexpr std::uint64_t end_request = std::uint64_t{1} << 32;

// Async-signal-safe.
void add_to_event(int fd, std::uint64_t count) noexcept {
  const int before = errno;
  while (::write(fd, &count, sizeof count) < 0 && errno == EINTR) {
  }
  errno = before;
}

std::uint64_t take_from_event(int fd) noexcept {
  std::uint64_t count = 0;
  while (::read(fd, &count, sizeof count) < 0 && errno == EINTR) {
  }
  return count;
}

}  // namespace

// -------------------------------------------------------------------------- the thread that writes

class dump_on_request::writer {
 public:
  explicit writer(dump_on_request_options options)
      : options_(std::move(options)), event_(::eventfd(0, EFD_CLOEXEC)) {
    if (event_.get() < 0) throw_errno(errno, "dump_on_request: cannot create an eventfd");
    if (!options_.file.empty()) {
      const descriptor file(open_to_append(options_.file));
      if (file.get() < 0)
        throw_errno(errno, "dump_on_request: cannot open '" + options_.file + "'");
    }
    const detail::all_signals_blocked for_the_thread;
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& error) {
      throw failure(error.code(), detail::thread_not_started("dump_on_request: its thread"));
    }
  }
  ~writer() {
    add_to_event(event_.get(), end_request);
    thread_.join();
  }

  [[nodiscard]] int event() const noexcept { return event_.get(); }
  [[nodiscard]] std::uint64_t written() const noexcept {
    // acquire: a caller that reads the count sees the dump.
    return written_.load(std::memory_order_acquire);
  }

 private:
  void run() noexcept {
    for (;;) {
      const std::uint64_t count = take_from_event(event_.get());
      if (count % end_request != 0) write_dump();
      if (count >= end_request) return;
    }
  }

  void write_dump() noexcept {
    const std::uint64_t number = written() + 1;
    try {
      write_out(make_dump_text(number));
    } catch (const std::exception& e) {  // no memory
      write_out(std::string_view("leat: dump failed: "));
      write_out(e.what());
      write_out("\n");
    }
    // release: pairs with written().
    written_.store(number, std::memory_order_release);
  }

  [[nodiscard]] std::string make_dump_text(std::uint64_t number) const {
    std::ostringstream text;
    if (options_.format == dump_format::text) {
      text << "leat dump " << number << " of process " << ::getpid() << '\n';
    }
    dump(text, options_.format, options_.patience);
    return std::move(text).str();
  }

  void write_out(std::string_view text) const noexcept {
    if (options_.file.empty()) {
      static_cast<void>(write_all(options_.descriptor, text, options_.patience));
    } else {
      const descriptor file(open_to_append(options_.file));  // each time: it may have been rotated
      static_cast<void>(write_all(file.get(), text, options_.patience));
    }
  }

  const dump_on_request_options options_;
  const descriptor event_;
  std::atomic<std::uint64_t> written_{0};
  std::thread thread_;  // last: it uses the others
};

// ------------------------------------------------------------------------------------- the signal

namespace {

// For each signal, the eventfd to write to, plus 1; 0 if there is none. A handler may run on any
// thread while the object is destroyed. It increments a counter before it reads the slot, and the
// destructor waits until the counter is 0. Sequentially consistent: either the handler sees that
// the slot is empty, or the destructor sees the handler.
std::array<std::atomic<int>, NSIG> events{};
std::atomic<int> handlers_inside{0};
// The thread that forks is not inside a handler, and a child of fork() has no other thread.
[[maybe_unused]] const int handlers_registered =
    ::pthread_atfork(nullptr, nullptr, [] { handlers_inside.store(0); });
static_assert(std::atomic<int>::is_always_lock_free, "used in a signal handler");

void handle(int signal) noexcept {
  handlers_inside.fetch_add(1);
  if (const int event = events[static_cast<std::size_t>(signal)].load(); event != 0) {
    add_to_event(event - 1, one_request);
  }
  handlers_inside.fetch_sub(1);
}

}  // namespace

class dump_on_request::signal_handler {
 public:
  signal_handler(int signal, int event) : signal_(signal) {
    if (signal < 1 || signal >= NSIG) {
      throw failure(errc::invalid_argument,
                    "dump_on_request: signal " + std::to_string(signal) +
                        " does not exist: use another one, such as SIGUSR1");
    }
    int nobody = 0;
    if (!event_slot().compare_exchange_strong(nobody, event + 1)) {
      throw failure(errc::already_exists,
                    "dump_on_request: signal " + std::to_string(signal) +
                        " is in use by another dump_on_request: use a different signal");
    }
    struct sigaction action{};
    action.sa_handler = &handle;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    ::sigfillset(&action.sa_mask);
    if (::sigaction(signal, &action, &before_) != 0) {
      const int error = errno;
      event_slot().store(0);
      throw_errno(error, "dump_on_request: cannot handle signal " + std::to_string(signal));
    }
  }
  signal_handler(const signal_handler&) = delete;
  signal_handler& operator=(const signal_handler&) = delete;
  // The handler is restored before the slot is emptied: a signal in between still finds the
  // eventfd. After the wait, no handler uses the eventfd, which the writer closes next.
  ~signal_handler() {
    struct sigaction now{};
    ::sigaction(signal_, nullptr, &now);
    if (now.sa_handler == &handle) ::sigaction(signal_, &before_, nullptr);
    event_slot().store(0);
    while (handlers_inside.load() != 0) std::this_thread::yield();
  }

 private:
  [[nodiscard]] std::atomic<int>& event_slot() const noexcept {
    return events[static_cast<std::size_t>(signal_)];
  }

  const int signal_;
  struct sigaction before_{};
};

// ---------------------------------------------------------------------------------------- outside

dump_on_request::dump_on_request(dump_on_request_options options) {
  const int signal = options.signal;
  writer_ = std::make_unique<writer>(std::move(options));
  if (signal != 0) handler_ = std::make_unique<signal_handler>(signal, writer_->event());
}

dump_on_request::~dump_on_request() = default;

void dump_on_request::request() noexcept { add_to_event(writer_->event(), one_request); }

std::uint64_t dump_on_request::written() const noexcept { return writer_->written(); }

}  // namespace LEAT
