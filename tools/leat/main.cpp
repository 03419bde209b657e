// leat: prints, checks, indexes and converts record files, runs pipelines, and checks the machine.

#include <csignal>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <map>
#include <sstream>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>

#include <leat/version.hpp>

#include "command/commands.hpp"
#include "help.hpp"
#include "input/paths.hpp"
#include "option_names.hpp"
#include "terminal/option_types.hpp"
#include "terminal/signals.hpp"

namespace tool {

CLI::App* add_command(CLI::App& app, program& p, const std::string& name, const std::string& what) {
  CLI::App* command = app.add_subcommand(name, what);
  command->add_flag("--json", p.json, "Print JSON, one object per line");
  command->fallthrough();
  return command;
}

void program::report(const std::string& path, const problem& why) {
  out.flush();  // keeps the order of output and errors
  const std::string text =
      with_display_path(command ? with_option_names(why.text, *command) : why.text);
  print_error(text);
  set_status(why.result);
  damaged = damaged || (reads_tfrecords && why.code == "data_loss");
  if (!json) return;
  tool::json line = tool::json::object();
  if (!path.empty()) line["path"] = display_path(path);
  line["error"] = {{"code", why.code}, {"message", text}};
  out.write_line(line);
}

void program::print_hints() const {
  if (!damaged || json || command->get_name() == "repair") return;
  const CLI::Option* const policy = command->get_option_no_throw("--on-damage");
  const bool can_resync = policy && policy->empty();
  const std::string what = can_resync ? "'--on-damage resync' to continue after the damage"
                                      : "'leat verify' to list all damage";
  print_plain_error("Try " + what +
                    ", or 'leat repair' to copy the intact records of a TFRecord file.\n");
}

namespace {

const std::map<std::string, colors> color_names{
    {"auto", colors::automatic}, {"always", colors::always}, {"never", colors::never}};

void add_general_options(CLI::App& app, program& p) {
  // For manual.py. Hidden, because it has no group.
  app.add_flag_callback("--list-options",
                        [&app] { throw CLI::CallForVersion(options_as_json(app), 0); })
      ->group("");
  app.set_version_flag("--version", "leat " LEAT_VERSION_STRING, "Print the version and exit");
  app.add_flag("--json", p.json, "Print JSON, one object per line");  // before the command, too
  add_choice(app, "--color", p.color, color_names,
             "Color the output: auto, always or never (default: auto)\n\n"
             "With auto, the output has colors on a terminal, unless NO_COLOR is set or TERM is "
             "dumb.")
      ->type_name("WHEN");
  app.add_option("-j,--jobs", p.jobs,
                 "Process N files concurrently, 0 to 1024 (default: 0, one for\n"
                 "each processor)\n\n"
                 "For run, N is the number of threads for workers (default: as declared).")
      ->check(CLI::Range(0U, 1024U).description(""))
      ->type_name("N");
  app.add_flag("-q,--quiet", p.quiet,
               "Print no progress, and no summary of run, on standard error\n\n"
               "Progress is printed only if standard error is a terminal.");
  app.add_option_function<std::string>(
         "--io", [](const std::string& backend) { ::setenv("LEAT_IO", backend.c_str(), 1); },
         "Do file I/O with uring or threads (default: LEAT_IO, or uring\n"
         "if available)")
      ->check(CLI::IsMember({"uring", "threads"}).description(""))
      ->type_name("HOW");
}

// Without this, a file that is opened could get the number of a closed standard descriptor, and
// output would go to that file. The replacements can be neither read nor written.
void occupy_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) < 0) {
      static_cast<void>(::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY));
    }
  }
}

// LEAT_IO has the same effect as --io. For doctor, a wrong value is a finding.
void check_environment(const CLI::App& app) {
  const char* const backend = std::getenv("LEAT_IO");
  const std::string_view text = backend ? backend : "";
  if (text.empty() || text == "uring" || text == "io_uring" || text == "threads") return;
  if (app.got_subcommand("doctor")) return;
  throw usage_error("LEAT_IO=" + std::string(text) + ": use uring or threads");
}

// Prints the error, and how to get help.
int report_usage_error(const CLI::App& app, const std::string& what) {
  const CLI::App* at = &app;
  std::string command = "leat";
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    command += " " + at->get_name();
  }
  print_error(with_option_names(what, *at));
  print_plain_error("Try '" + command + " --help'.\n");
  return static_cast<int>(status::usage);
}

// Prints the text of --help or --version.
void print_answer(const CLI::App& app, const CLI::Success& which, output& out) {
  std::ostringstream text;
  static_cast<void>(app.exit(which, text, text));
  out.write(std::move(text).str());
  out.flush();
}

int run(int argc, char** argv) {
  program p;
  CLI::App app("Print, check, index, convert and repair record files, and run pipelines.", "leat");
  app.require_subcommand(1);
  app.formatter(make_help_formatter());
  app.footer(
      "See leat COMMAND --help for the options of a command, and leat(1) for everything.\n"
      "Exit status: 0 success, 1 damaged or unsuitable data, 2 invalid command line,\n"
      "3 a file cannot be read or written.");
  add_general_options(app, p);
  add_commands(app, p);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    print_answer(app, e, p.out);
    return 0;
  } catch (const CLI::RequiredError& e) {
    const auto unknown = app.remaining(true);
    const bool named = unknown.empty() || unknown.front().starts_with('-');
    return report_usage_error(app, named ? e.what() : unknown.front() + ": no such command");
  } catch (const CLI::ParseError& e) {
    return report_usage_error(app, e.what());
  }
  try {
    check_environment(app);
    p.command = app.get_subcommands().front();
    p.run();
  } catch (const usage_error& e) {
    return report_usage_error(app, e.what());
  } catch (const ended_by_signal&) {
    throw;
  } catch (...) {
    p.report({}, describe(std::current_exception()));
  }
  p.out.flush();
  p.print_hints();
  return static_cast<int>(p.result);
}

}  // namespace
}  // namespace tool

int main(int argc, char** argv) {
  try {
    tool::occupy_standard_descriptors();
    // Instead, a write fails with EPIPE, and the command cleans up.
    std::signal(SIGPIPE, SIG_IGN);
    return tool::run(argc, argv);
  } catch (const tool::ended_by_signal& s) {
    tool::end_by_signal(s.number);
  } catch (...) {
    const tool::problem why = tool::describe(std::current_exception());
    tool::print_error(why.text);
    return static_cast<int>(why.result);
  }
}
