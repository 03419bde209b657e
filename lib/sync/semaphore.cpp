#include "leat/sync/semaphore.hpp"

#include <string>

#include "base/internal/append_text.hpp"
#include "leat/base/error.hpp"

namespace LEAT {

namespace {

// A maximum of this size is no limit in practice, and a dump does not show it.
constexpr std::size_t practically_unlimited = detail::state_lock::largest;

}  // namespace

constinit const wait_operation::kind semaphore::acquire_operation::wait_kind =
    synchronizer_waiter::kind_of("acquire", "semaphore");

semaphore::semaphore(std::size_t permits, std::size_t maximum, std::string name)
    : semaphore_base("semaphore", permits, maximum, std::move(name)) {
  if (maximum > 0 && permits <= maximum) return;
  std::string text;
  append_name_to(text);
  detail::append_text(text, ": ", permits, " permits of at most ", maximum,
                      maximum == 0 ? ": it needs a maximum of at least 1"
                                   : ": raise the maximum or start with fewer permits");
  throw failure(errc::invalid_argument, text);
}

void semaphore::throw_impossible(std::size_t count) const {
  std::string text;
  append_name_to(text);
  detail::append_text(text, ": acquire of ", count, " permits, but ",
                      count == 0 ? "a request needs at least 1" : "there are at most ");
  if (count != 0) detail::append_text(text, maximum_, ": it would wait forever");
  throw failure(errc::invalid_argument, text);
}

bool semaphore::take(std::size_t count, caller by) noexcept {
  using attempt = detail::state_lock::attempt;
  if (const attempt taken = take_quickly(count, by); taken != attempt::unknown)
    return taken == attempt::done;
  const section lock(*this);
  if (!try_take(count)) return false;
  holders_.remember(id_of(by));
  return true;
}

bool semaphore::close() noexcept {
  work_list woken;
  {
    const section lock(*this);
    if (closed_) return false;
    closed_ = true;
    state().make_general();
    woken = end_all(wait_outcome::closed);
  }
  wake_all(woken);
  return true;
}

void semaphore::grant(synchronizer_waiter& w) noexcept {
  semaphore_base::grant(w);
  holders_.remember(w.task());
}

void semaphore::append_state_to(std::string& text) const {
  detail::append_text(text, " (", free());
  if (maximum_ < practically_unlimited) detail::append_text(text, " of ", maximum_);
  detail::append_text(text, " free", closed_ ? ", closed)" : ")");
}

void semaphore::inspect(const synchronizer_waiter&, wait_target& target) const {
  target.size = free();
  target.capacity = maximum_;
  target.closed = closed_;
  target.partners = holders_.all();
  if (has_other_sources_) target.partners.emplace_back();  // anyone may release() permits
}

}  // namespace LEAT
