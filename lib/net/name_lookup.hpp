#pragma once

#include <memory>
#include <source_location>
#include <string>
#include <system_error>
#include <vector>

#include "leat/net/endpoint.hpp"
#include "leat/sync/synchronizer.hpp"

namespace LEAT::detail {

/// A name that a thread looks up. The thread shares it: the task that waits may leave.
class name_lookup final : public synchronizer, public std::enable_shared_from_this<name_lookup> {
 public:
  explicit name_lookup(endpoint name)
      : synchronizer("name", order::as_ready, name.text()), name_(std::move(name)) {}
  ~name_lookup() override { unregister(); }

  /// Passes it to a thread. Errors: std::bad_alloc; resource_exhausted, if there is no thread.
  void submit();
  /// Calls getaddrinfo(), on a thread.
  void run() noexcept;
  /// The result. Errors: not_found, if the name has no address; unavailable, if no name server
  /// answers.
  [[nodiscard]] std::vector<endpoint> take();

 private:
  bool is_ready(const synchronizer_waiter&) const noexcept override { return done_; }
  void grant(synchronizer_waiter&) noexcept override {}
  void append_state_to(std::string&) const override {}

  const endpoint name_;
  std::vector<endpoint> found_;
  int error_ = 0;         // of getaddrinfo()
  int system_error_ = 0;  // if that is EAI_SYSTEM
  bool no_memory_ = false;
  bool done_ = false;
};

/// The wait for a name.
struct lookup_operation : synchronizer_operation<name_lookup> {
  static constexpr auto wait_kind = synchronizer_waiter::kind_of("resolve", "name");
  explicit lookup_operation(std::shared_ptr<name_lookup> l)
      : synchronizer_operation(l.get()), lookup(std::move(l)) {}

  static std::size_t request() noexcept { return 1; }
  static bool try_complete(caller) noexcept { return false; }
  static bool begin(synchronizer_waiter& w) {
    object_of(w).submit();
    return synchronizer_operation::begin(w);
  }
  static void undo(waiter&) noexcept {}
  std::vector<endpoint> result(wait_outcome) const { return lookup->take(); }

  std::shared_ptr<name_lookup> lookup;
};

/// Returns the addresses of a name, IPv6 and IPv4 alternately, best first. A stop or a limit ends
/// the wait at once; the call of the system finishes in the background.
[[nodiscard]] inline auto look_up(endpoint name,
                                  std::source_location where = std::source_location::current()) {
  return await_operation<lookup_operation>(where, std::make_shared<name_lookup>(std::move(name)));
}

}  // namespace LEAT::detail
