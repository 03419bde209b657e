// Runs a program as in a container that refuses io_uring: without_io_uring EPERM|ENOSYS PROGRAM...
// Ends with 77 where the filter itself is refused.

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: without_io_uring EPERM|ENOSYS PROGRAM [ARGUMENTS]\n", stderr);
    return 2;
  }
  const unsigned error = std::strcmp(argv[1], "ENOSYS") == 0 ? ENOSYS : EPERM;
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof filter / sizeof *filter, filter};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    std::perror("without_io_uring: skipped: no filter");
    return 77;
  }
  ::execv(argv[2], argv + 2);
  std::perror(argv[2]);
  return 2;
}
