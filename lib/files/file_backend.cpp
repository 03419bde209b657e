#include "leat/files/file_backend.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <unistd.h>

namespace LEAT {

const service_key file_backend::key;

bool file_request::resubmit(file_backend& backend) noexcept {
  constexpr unsigned most = 1000;
  const bool repeatable =
      what == operation::read || what == operation::write || what == operation::sync;
  const bool again = result == -EINTR || result == -EAGAIN || (result == -ECANCELED && repeatable);
  // Bytes that a read without an offset has taken are lost.
  const bool taken = result == -ECANCELED && offset == at_stream_position;
  if (cancelled && again) result = -ECANCELED;
  if (cancelled || !again || taken || retries == most) return false;
  ++retries;
  result = 0;
  backend.submit(*this);
  return true;
}

file_backend& file_backend::backend_for(std::string_view) noexcept { return *this; }

void file_backend::complete_without_loop(scheduler&) noexcept {}

int file_backend::set_direct(int handle, bool direct) noexcept {
  const int flags = ::fcntl(handle, F_GETFL);
  if (flags < 0) return -errno;
  return ::fcntl(handle, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0 ? 0 : -errno;
}

std::string file_backend::owner_text() const {
  std::array<char, HOST_NAME_MAX + 1> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  return "process " + std::to_string(::getpid()) + " on host " + host.data();
}

}  // namespace LEAT
