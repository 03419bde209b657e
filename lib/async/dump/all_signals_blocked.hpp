#pragma once

#include <pthread.h>
#include <signal.h>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// Blocks all signals of the calling thread within its scope. A thread that starts meanwhile
/// inherits the block, so that signals go to the threads of the program.
class all_signals_blocked {
 public:
  all_signals_blocked() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  all_signals_blocked(const all_signals_blocked&) = delete;
  all_signals_blocked& operator=(const all_signals_blocked&) = delete;
  ~all_signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace LEAT::detail
