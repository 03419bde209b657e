#include "net/name_lookup.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <deque>
#include <netdb.h>
#include <utility>

#include "async/blocking/internal/worker_threads.hpp"
#include "base/internal/thread_not_started.hpp"
#include "leat/base/error.hpp"
#include "net/socket_address.hpp"

namespace LEAT::detail {
namespace {

// A name server that does not answer holds a thread for up to 30 s. So there are many, apart from
// those of blocking_pool.
class lookup_threads final : public worker_threads {
 public:
  lookup_threads() : worker_threads("leat names", 32, std::chrono::seconds(10)) {}

  // Returns false, without effect, if there is no thread. Errors: std::bad_alloc.
  [[nodiscard]] bool submit(std::shared_ptr<name_lookup> lookup) {
    lock_type lock(mutex());
    waiting_.push_back(std::move(lookup));
    if (call_thread(lock)) return true;
    waiting_.pop_back();
    return false;
  }

 private:
  [[nodiscard]] bool has_items() const noexcept override { return !waiting_.empty(); }
  void execute_next(lock_type& lock) noexcept override {
    auto lookup = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    lookup->run();
    lookup.reset();
    lock.lock();
  }

  std::deque<std::shared_ptr<name_lookup>> waiting_;
};

// Those of this process, which end with it. A child of fork() starts its own.
lookup_threads& threads() {
  static constinit std::atomic<lookup_threads*> instance{nullptr};
  lookup_threads* present = instance.load(std::memory_order_acquire);
  while (!present || !present->is_in_its_process()) {
    auto made = std::make_unique<lookup_threads>();
    if (instance.compare_exchange_strong(present, made.get(), std::memory_order_acq_rel)) {
      return *made.release();
    }
  }
  return *present;
}

// Alternates the families, so that connect() tries both soon (RFC 8305). The order is that of the
// system otherwise.
std::vector<endpoint> interleaved(const std::vector<endpoint>& all) {
  std::vector<endpoint> first;
  std::vector<endpoint> second;
  for (const endpoint& e : all)
    (e.is_ipv6() == all.front().is_ipv6() ? first : second).push_back(e);
  std::vector<endpoint> mixed;
  for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
    if (i < first.size()) mixed.push_back(first[i]);
    if (i < second.size()) mixed.push_back(second[i]);
  }
  return mixed;
}

}  // namespace

void name_lookup::submit() {
  if (threads().submit(shared_from_this())) return;
  throw failure(errc::resource_exhausted, thread_not_started("resolve: a thread"));
}

void name_lookup::run() noexcept {
  std::vector<endpoint> found;
  int error = 0;
  int system_error = 0;
  bool no_memory = false;
  addrinfo* all = nullptr;
  try {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_ADDRCONFIG;
    error = ::getaddrinfo(std::string(name_.host()).c_str(), nullptr, &hints, &all);
    system_error = errno;
    for (const addrinfo* a = all; error == 0 && a; a = a->ai_next) {
      socket_address address;
      if (a->ai_addrlen > sizeof address.any) continue;
      std::copy_n(reinterpret_cast<const std::byte*>(a->ai_addr), a->ai_addrlen,
                  reinterpret_cast<std::byte*>(&address.any));
      address.size = a->ai_addrlen;
      const endpoint e = address.to_endpoint();
      if (e) found.emplace_back(e.host(), name_.port());
    }
    if (!found.empty()) found = interleaved(found);
  } catch (const std::bad_alloc&) {
    no_memory = true;
  } catch (...) {  // not an address: none is thrown
    error = EAI_FAIL;
  }
  if (all) ::freeaddrinfo(all);
  work_list woken;
  {
    const lock_type lock(mutex_);
    found_ = std::move(found);
    error_ = error;
    system_error_ = system_error;
    no_memory_ = no_memory;
    done_ = true;
    woken = serve();
  }
  wake_all(woken);
}

std::vector<endpoint> name_lookup::take() {
  const lock_type lock(mutex_);
  if (no_memory_) throw std::bad_alloc();
  const std::string what = "resolve " + name_.text();
  switch (error_) {
    case 0: break;
    case EAI_SYSTEM: throw failure({system_error_, std::system_category()}, what);
    case EAI_AGAIN:
      throw failure(errc::unavailable, what + ": no name server answers, try again later");
    case EAI_MEMORY: throw std::bad_alloc();
    case EAI_NONAME:
    case EAI_NODATA: throw failure(errc::not_found, what + ": this name is unknown");
    default: throw failure(errc::unknown, what + ": " + ::gai_strerror(error_));
  }
  if (found_.empty()) throw failure(errc::not_found, what + ": the name has no address");
  return std::move(found_);
}

}  // namespace LEAT::detail
