// leat doctor: checks what this machine supports, and prints advice.

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include <leat/base/error.hpp>
#include <leat/io/backend/get_file_backend.hpp>
#include <leat/version.hpp>

#include "command/commands.hpp"
#include "report/ring_probe.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

// note: works, but could be better. problem: does not work.
enum class state { ok, note, problem };

struct finding {
  std::string name;
  state how = state::ok;
  std::string text;
  std::string advice;  // empty if there is nothing to do
  json details;
};

// ---- System files.

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

// The value of "Key:  value" in a file of /proc.
std::string field(const std::string& path, std::string_view key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t at = line.find_first_not_of(": \t", key.size());
    return at == std::string::npos ? std::string() : line.substr(at);
  }
  return {};
}

std::string error_text(int number) { return std::generic_category().message(number); }

// ---- The checks.

finding kernel() {
  utsname name{};
  ::uname(&name);
  return {.name = "kernel",
          .how = state::ok,
          .text = fmt::format("{} {}, {}", name.sysname, name.release, name.machine),
          .advice = {},
          .details = {{"release", name.release}, {"machine", name.machine}}};
}

std::string ring_advice(const ring_probe& ring) {
  if (ring.error == ENOSYS) {
    return "the kernel has no io_uring, or the seccomp profile of a container hides it: use Linux "
           "5.6 "
           "or later, and a profile that allows io_uring_setup, io_uring_enter and "
           "io_uring_register";
  }
  if (ring.switched_off > 0) {
    return "enable it: sysctl kernel.io_uring_disabled=0, or join the group in "
           "kernel.io_uring_group";
  }
  if (ring.error == EPERM || ring.error == EACCES) {
    return "a seccomp profile blocks it: run the container with a profile that allows "
           "io_uring_setup, "
           "io_uring_enter and io_uring_register (docker: --security-opt seccomp=PROFILE)";
  }
  if (ring.error == ENOMEM)
    return "the limit of locked memory is too low: raise RLIMIT_MEMLOCK (ulimit -l)";
  return "worker threads do file I/O instead, which costs more for each read";
}

finding io_uring() {
  const ring_probe ring = probe_ring();
  finding f{.name = "io_uring", .how = state::ok, .text = {}, .advice = {}, .details = {}};
  std::string used;
  try {
    used = backend_in_use();
  } catch (const leat::failure& e) {
    f.how = state::problem;
    f.text = e.what();
    f.advice = "set LEAT_IO to uring or threads, or unset it";
  }
  std::string features;
  for (const std::string& name : ring.features) features += (features.empty() ? "" : " ") + name;
  if (f.how == state::problem) {
    // f is complete
  } else if (ring.error != 0) {
    f.how = state::note;
    f.text = fmt::format("unavailable: {}; worker threads do file I/O", error_text(ring.error));
    f.advice = ring_advice(ring);
  } else if (used != "io_uring") {
    f.how = state::note;
    f.text = "available but not used: " + leat::file_backend_reason();
    f.advice = "unset LEAT_IO, or use a build of leat with liburing";
  } else {
    f.text = fmt::format("used; {} operations; {}", ring.operations, features);
  }
  f.details = {{"allowed", ring.error == 0},
               {"used", used == "io_uring"},
               {"backend", used},
               {"reason", leat::file_backend_reason()},
               {"features", ring.features},
               {"operations", ring.operations}};
  if (ring.error != 0) f.details["error"] = error_text(ring.error);
  if (ring.switched_off >= 0) f.details["io_uring_disabled"] = ring.switched_off;
  return f;
}

std::string limit_text(rlim_t value, bool bytes) {
  if (value == RLIM_INFINITY) return "unlimited";
  return bytes ? size_text(value) : fmt::format("{}", value);
}

json limit_json(rlim_t value) { return value == RLIM_INFINITY ? json(nullptr) : json(value); }

finding open_files() {
  constexpr rlim_t enough = 4096;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const bool few = limit.rlim_cur < enough;
  return {.name = "open files",
          .how = few ? state::note : state::ok,
          .text = fmt::format("at most {}, can be raised to {}", limit_text(limit.rlim_cur, false),
                              limit_text(limit.rlim_max, false)),
          .advice = few ? "each open file needs a descriptor: raise the limit by ulimit -n 65536, "
                          "or by LimitNOFILE= of a service"
                        : "",
          .details = {{"soft", limit_json(limit.rlim_cur)}, {"hard", limit_json(limit.rlim_max)}}};
}

finding locked_memory() {
  // Since Linux 5.12, a ring does not count as locked memory.
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  utsname name{};
  ::uname(&name);
  int major = 0;
  int minor = 0;
  char dot = 0;
  std::istringstream(name.release) >> major >> dot >> minor;
  const bool counts = major < 5 || (major == 5 && minor < 12);
  const bool few = counts && limit.rlim_cur < (1U << 20);
  return {.name = "locked memory",
          .how = few ? state::note : state::ok,
          .text = limit_text(limit.rlim_cur, true) +
                  (counts ? "" : "; io_uring does not need it on this kernel"),
          .advice = few ? "before Linux 5.12, io_uring needs locked memory: ulimit -l 65536" : "",
          .details = {{"soft", limit_json(limit.rlim_cur)},
                      {"hard", limit_json(limit.rlim_max)},
                      {"needed_for_rings", counts}}};
}

// Returns the limit of the cgroup of this process, or of the nearest group above it.
std::string group_limit(const std::string& file) {
  std::string group = first_line("/proc/self/cgroup");
  const std::size_t colon = group.rfind(':');
  group = colon == std::string::npos ? "/" : group.substr(colon + 1);
  for (std::filesystem::path at(group);; at = at.parent_path()) {
    const std::string limit = first_line("/sys/fs/cgroup" + at.string() + "/" + file);
    if (!limit.empty() && !limit.starts_with("max")) return limit;
    if (at == at.parent_path()) return {};
  }
}

finding container() {
  const std::string seccomp = field("/proc/self/status", "Seccomp");
  const std::string memory = group_limit("memory.max");
  const std::string processors = group_limit("cpu.max");
  std::error_code ignored;
  const bool inside = std::filesystem::exists("/.dockerenv", ignored) ||
                      std::filesystem::exists("/run/.containerenv", ignored) ||
                      std::getenv("container") != nullptr;
  std::string text = inside ? "in a container" : "no container detected";
  if (seccomp == "2") text += "; seccomp filters system calls";
  if (!memory.empty()) {
    text += "; at most " + size_text(std::strtoull(memory.c_str(), nullptr, 10)) + " of memory";
  }
  if (!processors.empty()) text += "; CPU time limited to " + processors + " us";
  finding f{.name = "container",
            .how = state::ok,
            .text = text,
            .advice = {},
            .details = {{"container", inside},
                        {"seccomp", seccomp},
                        {"memory_max", memory},
                        {"cpu_max", processors}}};
  if (!memory.empty()) {
    f.advice =
        "the page cache counts towards this limit: set a maximum weight for queues, and a smaller "
        "read_options::depth for readers";
    f.how = state::note;
  }
  return f;
}

finding pages() {
  const std::string huge = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  const std::size_t open = huge.find('[');
  const std::size_t close = huge.find(']');
  std::string choice = "unknown";
  if (open != std::string::npos && close != std::string::npos) {
    choice = huge.substr(open + 1, close - open - 1);
  }
  const bool never = choice == "never";
  const long size = ::sysconf(_SC_PAGESIZE);
  return {.name = "memory pages",
          .how = never ? state::note : state::ok,
          .text = fmt::format("{}; transparent huge pages: {}",
                              size_text(static_cast<std::uint64_t>(size)), choice),
          .advice = never ? "huge pages make large reads from a device faster: "
                            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"
                          : "",
          .details = {{"page_size", size}, {"transparent_huge_pages", choice}}};
}

struct file_system_name {
  std::uint64_t magic;
  const char* name;
};

// Source: statfs(2).
constexpr std::array<file_system_name, 14> file_systems{{
    {0xEF53, "ext4"},
    {0x58465342, "xfs"},
    {0x9123683E, "btrfs"},
    {0x01021994, "tmpfs"},
    {0x794C7630, "overlayfs"},
    {0x6969, "nfs"},
    {0xFF534D42, "cifs"},
    {0xFE534D42, "smb2"},
    {0x65735546, "fuse"},
    {0x2FC12FC1, "zfs"},
    {0xF2F52010, "f2fs"},
    {0x00C36400, "ceph"},
    {0x0BD00BD0, "lustre"},
    {0x01021997, "9p"},
}};

std::string find_file_system(const char* path) {
  struct statfs s{};
  if (::statfs(path, &s) != 0) return "unknown: " + error_text(errno);
  const auto magic = static_cast<std::uint32_t>(s.f_type);
  for (const file_system_name& f : file_systems) {
    if (f.magic == magic) return f.name;
  }
  return fmt::format("0x{:x}", magic);
}

// Returns nothing if no file can be created for the test.
std::optional<bool> allows_direct_io(const char* path) {
  const int f = ::open(path, O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);
  if (f >= 0) {
    ::close(f);
    return true;
  }
  if (errno == EINVAL) {
    const int without = ::open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (without >= 0) {
      ::close(without);
      return false;
    }
  }
  return std::nullopt;
}

// Returns the read-ahead of the device of a path, in KiB; empty if there is no device.
std::string find_read_ahead(const char* path) {
  struct stat s{};
  if (::stat(path, &s) != 0) return {};
  const std::string device =
      fmt::format("/sys/dev/block/{}:{}/", ::major(s.st_dev), ::minor(s.st_dev));
  const std::string own = first_line(device + "queue/read_ahead_kb");
  return own.empty() ? first_line(device + "../queue/read_ahead_kb") : own;
}

finding working_directory() {
  const std::string type = find_file_system(".");
  const std::optional<bool> direct = allows_direct_io(".");
  const std::string ahead = find_read_ahead(".");
  const bool remote = type == "nfs" || type == "cifs" || type == "smb2" || type == "fuse" ||
                      type == "ceph" || type == "lustre" || type == "9p";
  std::error_code ignored;
  const std::string path = std::filesystem::current_path(ignored).string();
  std::string text = fmt::format("{} on {}; direct I/O {}", path, type,
                                 !direct   ? "could not be tested"
                                 : *direct ? "works"
                                           : "is not supported");
  if (!ahead.empty()) text += fmt::format("; the kernel reads {} KiB ahead", ahead);
  finding f{.name = "working directory",
            .how = remote ? state::note : state::ok,
            .text = text,
            .advice = remote ? "reads go through a network or another process: raise "
                               "read_options::depth, and read several files concurrently"
                             : "",
            .details = {{"path", path}, {"file_system", type}}};
  f.details["direct_io"] = direct ? json(*direct) : json(nullptr);
  if (!ahead.empty()) f.details["read_ahead_kib"] = std::strtoul(ahead.c_str(), nullptr, 10);
  return f;
}

finding processor() {
  finding f{.name = "processor", .how = state::ok, .text = {}, .advice = {}, .details = {}};
  const unsigned count = std::thread::hardware_concurrency();
  f.text = count_text(count, "processor");
  f.details["count"] = count;
#if defined(__x86_64__)
  const std::array<std::pair<const char*, bool>, 5> features{{
      {"sse4.2", __builtin_cpu_supports("sse4.2") != 0},
      {"pclmul", __builtin_cpu_supports("pclmul") != 0},
      {"avx2", __builtin_cpu_supports("avx2") != 0},
      {"avx512f", __builtin_cpu_supports("avx512f") != 0},
      {"vpclmulqdq", __builtin_cpu_supports("vpclmulqdq") != 0},
  }};
  std::string there;
  std::string missing;
  for (const auto& [name, has] : features) {
    (has ? there : missing) += std::string(" ") + name;
    f.details[name] = has;
  }
  f.text += ";" + (there.empty() ? " none of the CPU features that leat uses" : there);
  if (!missing.empty()) f.text += "; without" + missing;
  if (!features[0].second) {
    f.how = state::note;
    f.advice =
        "checksums are slow without SSE 4.2: give the virtual machine a processor model that has "
        "it";
  }
#endif
  return f;
}

// ---- The report.

std::string_view name(state s) noexcept {
  return s == state::ok ? "ok" : s == state::note ? "note" : "problem";
}

std::string painted(state s, const palette& paint) {
  const std::string word = fmt::format("{:<7}", name(s));
  return s == state::ok     ? paint.good(word)
         : s == state::note ? paint.doubtful(word)
                            : paint.bad(word);
}

void run_doctor(program& p) {
  const palette paint(p.color);
  const std::array<finding, 8> findings{
      kernel(),    io_uring(), open_files(),        locked_memory(),
      container(), pages(),    working_directory(), processor()};
  json checks = json::array();
  if (!p.json) p.out.write("leat " LEAT_VERSION_STRING "\n");
  for (const finding& f : findings) {
    if (f.how == state::problem) p.set_status(status::data);
    if (p.json) {
      json check{{"name", f.name}, {"state", name(f.how)}, {"text", f.text}};
      if (!f.advice.empty()) check["advice"] = f.advice;
      check["details"] = f.details;
      checks.push_back(std::move(check));
      continue;
    }
    p.out.write(
        fmt::format("{} {:<18} {}\n", painted(f.how, paint), f.name, escape_controls(f.text)));
    if (!f.advice.empty()) p.out.write(fmt::format("{:27}-> {}\n", "", f.advice));
  }
  if (p.json) {
    p.out.write_line(json{{"version", LEAT_VERSION_STRING}, {"checks", std::move(checks)}});
  }
}

}  // namespace

void add_doctor(CLI::App& app, program& p) {
  CLI::App* command =
      add_command(app, p, "doctor", "Check what this machine supports, and print advice");
  command->callback([&p] { p.run = [&p] { run_doctor(p); }; });
}

}  // namespace tool
