#include "terminal/output.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "terminal/progress.hpp"
#include "terminal/status.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

constexpr std::size_t piece = std::size_t{64} << 10;

// See write_in_progress(). relaxed: it is compared with itself, and guards nothing.
std::atomic<std::uint64_t> current_write{0};

// Returns false and sets errno on an error.
bool write_all(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t n = ::write(descriptor, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

std::string to_line(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

void add_member(json& object, const std::string& name, json value) {
  object.get_ref<json::object_t&>().emplace_back(name, std::move(value));
}

void output::write(std::string_view text) {
  buffer_ += text;
  static const bool terminal = ::isatty(STDOUT_FILENO) != 0;
  if (buffer_.size() >= piece || (terminal && text.ends_with('\n'))) flush();
}

void output::write_line(const json& object) { write(to_line(object)); }

void output::flush() {
  const std::string text = std::exchange(buffer_, {});
  if (text.empty()) return;
  hide_progress();
  static std::uint64_t writes = 0;  // only the printing thread calls this
  current_write.store(++writes, std::memory_order_relaxed);
  const bool written = write_all(STDOUT_FILENO, text);
  current_write.store(0, std::memory_order_relaxed);
  if (written) return;
  if (errno == EPIPE) throw ended_by_signal{SIGPIPE};
  throw std::system_error(errno, std::generic_category(), "standard output: cannot write");
}

std::uint64_t write_in_progress() noexcept { return current_write.load(std::memory_order_relaxed); }

palette::palette(colors when) : on_(when == colors::always) {
  if (when != colors::automatic) return;
  const char* const objection = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  on_ = ::isatty(STDOUT_FILENO) != 0 && (!objection || !*objection) && terminal &&
        std::string_view(terminal) != "dumb";
}

std::string palette::paint(std::string_view color, std::string_view text) const {
  if (!on_) return std::string(text);
  return "\x1b[" + std::string(color) + "m" + std::string(text) + "\x1b[0m";
}

void print_error(std::string_view text) {
  hide_progress();
  write_all(STDERR_FILENO, "leat: " + escape_controls(text) + "\n");
}

}  // namespace tool
