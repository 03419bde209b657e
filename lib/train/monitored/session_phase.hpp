#pragma once

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// The phases of a monitored session.
///
/// | phase        | begins when                             | next phase                   |
/// |--------------|-----------------------------------------|------------------------------|
/// | `created`    | the object is created                   | `opening`                    |
/// | `opening`    | open() begins                           | `open`, `failed`             |
/// | `failed`     | open() has failed: nothing ever ran     | `closing`, to release a rest |
/// | `open`       | a session is ready, and no run() awaits | `running`, `closing`         |
/// | `running`    | run() begins, or continues              | `open`, `recovering`         |
/// | `recovering` | run() replaces a session that failed    | `running`, `closed`          |
/// | `closing`    | close() or the end of managed()         | `closed`; again `closing` if |
/// |              |                                         | memory was exhausted         |
/// | `closed`     | no session will be opened any more      | `closing`, to release a rest |
///
/// The rest of a session is left if memory was exhausted when it should have been closed.
enum class session_phase : unsigned char {
  created,
  opening,
  failed,
  open,
  running,
  recovering,
  closing,
  closed,
};

/// Returns true if the table permits `to` after `from`.
[[nodiscard]] constexpr bool may_follow(session_phase from, session_phase to) noexcept {
  using enum session_phase;
  switch (from) {
    case created: return to == opening;
    case opening: return to == open || to == failed;
    case open: return to == running || to == closing;
    case running: return to == open || to == recovering;
    case recovering: return to == running || to == closed;
    case closing: return to == closing || to == closed;
    case failed:
    case closed: return to == closing;
  }
  return false;
}

}  // namespace LEAT::detail
