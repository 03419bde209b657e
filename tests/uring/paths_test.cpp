// Operations on paths go through the ring. The tests refuse the system calls for them.

#include <array>
#include <cerrno>
#include <cstddef>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/async/loop/block_on.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/error.hpp"
#include "leat/io/backend/get_file_backend.hpp"
#include "leat/io/file/file.hpp"
#include "support/child_process.hpp"
#include "support/temp_dir.hpp"

namespace paths_test {

using leat::file;
using leat::open_mode;
using leat::task;

// Makes the system calls fail with EPERM in this thread and in threads that it starts. The
// operations of a ring are not system calls.
bool refuse(const std::vector<unsigned>& calls) {
  std::vector<sock_filter> steps;
  steps.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  for (const unsigned call : calls) {
    steps.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    steps.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  }
  steps.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  sock_fprog program{static_cast<unsigned short>(steps.size()), steps.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

task<std::string> use_paths(std::string dir) {
  leat::scheduler& here = leat::this_task::get_scheduler();
  if (leat::get_file_backend(here).name() != "io_uring") co_return "no ring";
  const std::vector<unsigned> calls = {
#ifdef SYS_open
      SYS_open,   SYS_rename,  SYS_unlink,
#endif
      SYS_openat, SYS_openat2, SYS_statx,  SYS_renameat, SYS_renameat2, SYS_unlinkat, SYS_close};
  if (!refuse(calls)) co_return "no filter";
  file f = co_await file::open(dir + "/a", open_mode::write_new);
  const std::vector<std::byte> data(3);
  co_await f.write_at(0, data);
  co_await f.close();
  co_await leat::rename_file(dir + "/a", dir + "/b");
  const leat::file_status status = co_await leat::get_status(dir + "/b");
  file again = co_await file::open(dir + "/b");
  std::string said = std::to_string(status.size) + " " + std::to_string(again.status().size);
  co_await again.close();
  co_await leat::remove_file(dir + "/b");
  try {
    co_await leat::get_status(dir + "/b");
  } catch (const leat::failure& e) {
    if (e.code() == leat::errc::not_found) said += " gone";
  }
  co_return said;
}

TEST_CASE("io_uring: paths go through the ring", "[uring]") {
  const temp_dir dir;
  const std::string said =
      leat_test::run_in_child([&] { return leat::block_on(use_paths(dir.path())); });
  if (said == "no filter") return;  // in some containers
  CHECK(said == "3 3 gone");
}

}  // namespace paths_test
