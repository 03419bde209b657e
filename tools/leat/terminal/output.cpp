#include "terminal/output.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <leat/base/write_all.hpp>

#include "terminal/progress.hpp"
#include "terminal/status.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

constexpr std::size_t piece = std::size_t{64} << 10;

// See write_in_progress(). relaxed: it is compared with itself, and guards nothing.
std::atomic<std::uint64_t> current_write{0};

}  // namespace

std::string to_line(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

void add_member(json& object, const std::string& name, json value) {
  object.get_ref<json::object_t&>().emplace_back(name, std::move(value));
}

void output::write(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= piece || (text.ends_with('\n') && is_terminal())) flush();
}

bool output::is_terminal() noexcept {
  static const bool terminal = ::isatty(STDOUT_FILENO) != 0;
  return terminal;
}

void output::write_line(const json& object) { write(to_line(object)); }

void output::flush() {
  const std::string text = std::exchange(buffer_, {});
  if (text.empty()) return;
  hide_progress();
  static std::uint64_t writes = 0;  // only the printing thread calls this
  current_write.store(++writes, std::memory_order_relaxed);
  const std::error_code error = leat::write_all(STDOUT_FILENO, text);
  current_write.store(0, std::memory_order_relaxed);
  if (!error) return;
  if (error == std::errc::broken_pipe) throw ended_by_signal{SIGPIPE};
  throw std::system_error(error, "standard output: cannot write");
}

std::uint64_t write_in_progress() noexcept { return current_write.load(std::memory_order_relaxed); }

palette::palette(colors when) : on_(when == colors::always) {
  if (when != colors::automatic) return;
  const char* const objection = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  on_ = output::is_terminal() && (!objection || !*objection) && terminal &&
        std::string_view(terminal) != "dumb";
}

std::string palette::paint(std::string_view color, std::string_view text) const {
  if (!on_) return std::string(text);
  return "\x1b[" + std::string(color) + "m" + std::string(text) + "\x1b[0m";
}

void print_error(std::string_view text) {
  print_plain_error("leat: " + escape_controls(text) + "\n");
}

void print_plain_error(std::string_view text) {
  hide_progress();
  static_cast<void>(leat::write_all(STDERR_FILENO, text));
}

}  // namespace tool
