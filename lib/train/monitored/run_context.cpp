#include "leat/train/monitored/run_context.hpp"

#include "leat/base/error.hpp"

namespace LEAT {

void run_context::refuse_second(const std::string& name) {
  throw failure(errc::already_exists,
                "Same tensor is fed: input '" + name +
                    "' was already set by the caller of run() or by another hook");
}

}  // namespace LEAT
