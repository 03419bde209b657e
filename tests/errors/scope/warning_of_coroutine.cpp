// expect: callback in the options returns a coroutine, which would never run
#include <string>

#include "leat/train/checkpoint/checkpoint_directory.hpp"

auto latest() {
  return leat::get_checkpoint_state("logs", "checkpoint",
                                    [](const std::string&) -> leat::task<> { co_return; });
}
