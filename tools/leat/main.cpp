// leat: looks into record files, checks, indexes and converts them, and says what this machine can.

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <map>
#include <string_view>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <leat/version.hpp>

#include "command/commands.hpp"
#include "input/paths.hpp"
#include "option_names.hpp"
#include "terminal/option_types.hpp"
#include "terminal/signals.hpp"

namespace tool {

CLI::App* add_command(CLI::App& app, program& p, const std::string& name, const std::string& what) {
  CLI::App* command = app.add_subcommand(name, what);
  command->add_flag("--json", p.json, "Print JSON; see leat(1)");
  command->fallthrough();
  return command;
}

void program::report(const std::string& path, const problem& why) {
  out.flush();  // first what came before
  const std::string text =
      with_display_path(command ? with_option_names(why.text, *command) : why.text);
  print_error(text);
  set_status(why.result);
  damaged = damaged || why.code == "data_loss";
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
  std::fprintf(stderr, "Try %s, or 'leat repair' for a TFRecord file without it.\n",
               can_resync ? "'--on-damage resync' to read on behind what is damaged"
                          : "'leat verify' for all that is damaged");
}

namespace {

const std::map<std::string, colors> color_names{
    {"auto", colors::automatic}, {"always", colors::always}, {"never", colors::never}};

void add_general_options(CLI::App& app, program& p) {
  app.set_version_flag("--version", "leat " LEAT_VERSION_STRING, "Print the version");
  app.add_flag("--json", p.json, "Print JSON; see leat(1)");  // before the command as behind it
  add_choice(app, "--color", p.color, color_names, "auto, always or never; auto heeds NO_COLOR")
      ->type_name("WHEN");
  app.add_option("-j,--jobs", p.jobs, "Files at a time; 0: one for each processor")
      ->check(CLI::Range(0U, 1024U).description(""))
      ->type_name("N");
  app.add_flag("-q,--quiet", p.quiet, "No progress on standard error");
  app.add_option_function<std::string>(
         "--io", [](const std::string& backend) { ::setenv("LEAT_IO", backend.c_str(), 1); },
         "Read and write through uring or threads; else as the system allows")
      ->check(CLI::IsMember({"uring", "threads"}).description(""))
      ->type_name("HOW");
}

void add_commands(CLI::App& app, program& p) {
  add_cat(app, p);
  add_head(app, p);
  add_count(app, p);
  add_stat(app, p);
  add_verify(app, p);
  add_index(app, p);
  add_convert(app, p);
  add_repair(app, p);
  add_report(app, p);
  add_checkpoints(app, p);
  add_run(app, p);
  add_doctor(app, p);
  add_bench(app, p);
}

// A descriptor that is closed would go to the first file that is opened, and what is printed would
// go there. What is open in their place can be neither read nor written.
void occupy_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) < 0) {
      static_cast<void>(::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY));
    }
  }
}

// The environment says it for each command as --io does; doctor tells of it.
void check_environment(const CLI::App& app) {
  const char* const backend = std::getenv("LEAT_IO");
  const std::string_view text = backend ? backend : "";
  if (text.empty() || text == "uring" || text == "io_uring" || text == "threads") return;
  if (app.got_subcommand("doctor")) return;
  throw usage_error("LEAT_IO=" + std::string(text) + ": use uring or threads");
}

// What is wrong, and where to look.
int report_usage_error(const CLI::App& app, const std::string& what) {
  const CLI::App* at = &app;
  std::string command = "leat";
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    command += " " + at->get_name();
  }
  print_error(with_option_names(what, *at));
  std::fprintf(stderr, "Try '%s --help'.\n", command.c_str());
  return static_cast<int>(status::usage);
}

int run(int argc, char** argv) {
  program p;
  CLI::App app("Looks into files of records, checks them and makes them.", "leat");
  app.require_subcommand(1);
  app.get_formatter()->column_width(28);
  app.footer(
      "leat COMMAND --help tells more of each. Exit status: 0 all is well, 1 a file is\n"
      "damaged or not what it should be, 2 the command line makes no sense, 3 a file\n"
      "cannot be read or written.");
  add_general_options(app, p);
  add_commands(app, p);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e) == 0 && std::fflush(stdout) == 0 ? 0 : static_cast<int>(status::io);
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
    // Who writes finds out by the error, and cleans up.
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
