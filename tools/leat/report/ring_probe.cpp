#include "report/ring_probe.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <leat/async/loop/block_on.hpp>
#include <leat/async/this_task.hpp>
#include <leat/io/backend/get_file_backend.hpp>

namespace tool {
namespace {

struct named_feature {
  std::uint32_t bit;
  const char* name;
};

// Numbers instead of names, because the kernel headers may be older than the kernel.
constexpr std::array<named_feature, 14> known{{
    {1U << 0, "single_mmap"},
    {1U << 1, "nodrop"},
    {1U << 2, "submit_stable"},
    {1U << 3, "rw_cur_pos"},
    {1U << 4, "cur_personality"},
    {1U << 5, "fast_poll"},
    {1U << 6, "poll_32bits"},
    {1U << 7, "sqpoll_nonfixed"},
    {1U << 8, "ext_arg"},
    {1U << 9, "native_workers"},
    {1U << 10, "rsrc_tags"},
    {1U << 11, "cqe_skip"},
    {1U << 12, "linked_file"},
    {1U << 13, "reg_reg_ring"},
}};

unsigned count_operations(int ring) {
  constexpr unsigned most = 256;
  std::vector<std::byte> memory(sizeof(io_uring_probe) + most * sizeof(io_uring_probe_op));
  const auto done =
      ::syscall(SYS_io_uring_register, ring, IORING_REGISTER_PROBE, memory.data(), most);
  if (done != 0) return 0;
  unsigned count = 0;
  for (unsigned i = 0; i < most; ++i) {
    io_uring_probe_op op;
    std::memcpy(&op, memory.data() + sizeof(io_uring_probe) + i * sizeof op, sizeof op);
    if ((op.flags & IO_URING_OP_SUPPORTED) != 0) ++count;
  }
  return count;
}

leat::task<std::string> backend_of_task() {
  leat::scheduler& here = leat::this_task::get_scheduler();
  co_return std::string(leat::get_file_backend(here).name());
}

}  // namespace

std::string backend_in_use() { return leat::block_on(backend_of_task()); }

ring_probe probe_ring() {
  ring_probe result;
  std::ifstream("/proc/sys/kernel/io_uring_disabled") >> result.switched_off;
  io_uring_params how{};
  const auto ring = static_cast<int>(::syscall(SYS_io_uring_setup, 8, &how));
  if (ring < 0) {
    result.error = errno;
    return result;
  }
  for (const named_feature& f : known) {
    if ((how.features & f.bit) != 0) result.features.emplace_back(f.name);
  }
  result.operations = count_operations(ring);
  ::close(ring);
  return result;
}

}  // namespace tool
