#include "leat/train/monitored/run_context.hpp"

#include "leat/base/error.hpp"

namespace leat {

void run_context::refuse_second(const std::string& name) {
  throw failure(errc::already_exists,
                "Same tensor is fed: the input '" + name +
                    "' was set before, by the caller of run() or another hook: let only one do it");
}

}  // namespace leat
