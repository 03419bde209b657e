// The main function of every test program. It is compiled once, since it takes longer than all
// cases of a layer.

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <sys/syscall.h>
#include <unistd.h>

#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

namespace {

// If the kernel has io_uring and allows it, a call without parameters fails with EFAULT.
bool ring_is_refused() { return ::syscall(SYS_io_uring_setup, 1, nullptr) < 0 && errno != EFAULT; }

}  // namespace

int main(int argc, char** argv) {
  const char* const backend = std::getenv("LEAT_IO");
  if (backend && std::string_view(backend) == "uring" && ring_is_refused()) {
    std::printf("skipped: the system refuses io_uring: %s\n", std::strerror(errno));
    return 77;  // Meson reports a skipped test
  }
  return Catch::Session().run(argc, argv);
}
