// expect: use_task needs an operation with one completion signature
#include "leat/async/loop/use_task.hpp"

leat::task<> wait() {
  co_await leat::asio::async_initiate<const leat::use_task_t&, void(), void(int)>([](auto) {},
                                                                                  leat::use_task);
}
