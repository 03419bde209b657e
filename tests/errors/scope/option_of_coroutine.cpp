// expect: callback in the options returns a coroutine, which would never run
// expect: write a plain function
#include <string>

#include "leat/async/task.hpp"
#include "leat/train/checkpoint/saver_options.hpp"

leat::task<> warn(const std::string& sentence);
leat::saver_options options{.on_warning = warn};
