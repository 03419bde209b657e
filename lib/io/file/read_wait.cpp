#include "leat/io/file/detail/read_wait.hpp"

#include <ostream>
#include <string>

#include "leat/async/task_scope.hpp"
#include "leat/base/error.hpp"
#include "leat/io/file/file.hpp"

namespace LEAT::detail {

const wait_operation::kind read_wait::read_kind{"read", &read_wait::cancel, &read_wait::describe};

bool read_wait::await_suspend(std::coroutine_handle<> h) {
  if (!bound()) attach(h);
  if (stop_requested()) {
    cancelled_ = true;
    return false;
  }
  begin_wait();
  read_.reader_ = this;
  return true;
}

void read_wait::await_resume() const {
  if (cancelled_) throw failure(errc::cancelled, std::string(path_) + ": read");
}

void read_wait::cancel(wait_operation& w) noexcept {
  auto& self = static_cast<read_wait&>(w);
  // The read has ended, and its wake-up is on the way.
  if (self.read_.reader_ != &self) return;
  self.read_.reader_ = nullptr;
  self.cancelled_ = true;
  self.wake();
}

void read_wait::describe(const wait_operation& w, std::ostream& out) {
  const auto& self = static_cast<const read_wait&>(w);
  out << "'" << self.path_ << "'" << offset_text(self.offset_);
}

}  // namespace LEAT::detail
