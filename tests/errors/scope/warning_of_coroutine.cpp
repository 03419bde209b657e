// expect: a function of the options is called and not awaited
#include <string>

#include "leat/train/checkpoint/checkpoint_directory.hpp"

auto latest() {
  return leat::get_checkpoint_state("logs", "checkpoint",
                                    [](const std::string&) -> leat::task<> { co_return; });
}
