#include <cerrno>
#include <thread>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "leat/queue/fifo_queue.hpp"
#include "support/child_process.hpp"
#include "support/leat_test.hpp"

namespace seccomp_test {

using leat::fifo_queue;
using leat_test::run_in_child;

// Makes membarrier(2) fail with EPERM from now on. Returns false if no filter can be installed.
bool refuse_membarrier() {
  sock_filter steps[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program{4, steps};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// The first thread that uses a queue owns its lock. A filter that is installed later must not
// matter.
TEST_CASE("fifo_queue: when membarrier is refused after the first use, a second thread enters") {
  const std::string said = run_in_child([]() -> std::string {
    fifo_queue<int> q(4, "q");
    for (int i = 0; i < 3; ++i) {
      if (!q.try_push(int{i}) || !q.try_pop()) return "no first use";
    }
    if (!refuse_membarrier()) return "skipped";
    std::thread([&] { static_cast<void>(q.try_push(7)); }).join();
    return q.try_pop() == 7 ? "popped" : "lost";
  });
  CHECK((said == "popped" || said == "skipped"));
}

TEST_CASE("fifo_queue: when membarrier is refused, an owner inside the queue excludes the others") {
  const std::string said = run_in_child([]() -> std::string {
    constexpr int rounds = 20;
    constexpr int items = 20'000;
    for (int round = 0; round < rounds; ++round) {
      fifo_queue<int> q(64, "q");
      if (!q.try_push(1)) return "no first use";
      if (round == 0 && !refuse_membarrier()) return "skipped";
      long pushed = 1;
      long popped = 0;
      std::thread other([&] {
        for (int i = 0; i < items; ++i) popped += q.try_pop() ? 1 : 0;
      });
      for (int i = 0; i < items; ++i) pushed += q.try_push(int{i}) ? 1 : 0;
      other.join();
      while (q.try_pop()) ++popped;
      if (pushed != popped) return std::to_string(pushed) + " in, " + std::to_string(popped);
    }
    return "all popped";
  });
  CHECK((said == "all popped" || said == "skipped"));
}

}  // namespace seccomp_test
