#include "input/input_options.hpp"

#include <utility>

#include "input/file_probe.hpp"
#include "option_names.hpp"
#include "terminal/numbers.hpp"
#include "terminal/option_types.hpp"

namespace tool {

const policy_choices& damage_policies() {
  static const policy_choices all{
      {"fail", leat::corruption_policy::fail},
      {"skip", leat::corruption_policy::skip_record},
      {"resync", leat::corruption_policy::resync},
      {"skip-file", leat::corruption_policy::skip_file},
  };
  return all;
}

const compression_choices& compressions() {
  static const compression_choices all = [] {
    compression_choices to{{"auto", std::nullopt}, {"none", leat::compression::none}};
    for (const leat::compression_format& f : leat::compression_formats()) {
      to.emplace(CLI::detail::to_lower(std::string(f.name)), f.type);
    }
    return to;
  }();
  return all;
}

namespace {

// The group of these options in the help and in the manual.
constexpr const char* reading_group = "Reading";

}  // namespace

void input_options::add_to(CLI::App& app, bool with_policy) {
  command = &app;
  as_path(app.add_option("FILE", names,
                         "Files, or quoted patterns such as 'data/*.tfrecord'; - is\n"
                         "standard input (default: standard input)"))
      ->type_name("");
  app.option_defaults()->group(reading_group);
  add_choice(app, "--compression", compression, compressions(),
             "Set the compression of the input: auto, none, zlib or gzip\n"
             "(default: auto)\n\n"
             "With auto, the compression is detected from the first bytes of a file.")
      ->type_name("HOW");
  as_size(app.add_option("--max-record-size", max_record_size,
                         "Treat a larger record as damaged (default: 1 GiB)\n\n"
                         "The limit also applies to a line, and to a row of csv, for which the "
                         "default is 16 MiB. SIZE is a number of bytes and can "
                         "have a unit, as in 16MiB."),
          1);
  as_number(app.add_option("--max-ratio", max_ratio,
                           "Reject data that inflates to more than N times its compressed\n"
                           "size (default: 256)\n\n"
                           "The first 16 MiB are always accepted."),
            1);
  app.option_defaults()->group("Options");
  if (!with_policy) return;
  add_choice(
      app, "--on-damage", on_damage, damage_policies(),
      "Continue after damage: fail, skip, resync or skip-file\n"
      "(default: fail)\n\n"
      "With fail, the command stops at a damaged record. With skip, it continues with the next "
      "record, and fails if the offset of that is unknown. With resync, it continues with "
      "the next intact record. With skip-file, it continues with the next file.")
      ->type_name("POLICY")
      ->group(reading_group);
  add_max_held_to(app);
}

void input_options::add_max_held_to(CLI::App& app) {
  as_size(app.add_option("--max-held", max_held,
                         "Hold at most SIZE in memory while searching for a record in\n"
                         "compressed data or a pipe (default: 16 MiB)\n\n"
                         "After damage, verify and repair search for the next intact record. cat, "
                         "head and convert do so with --on-damage resync. The search skips a "
                         "header that declares a larger record, and its record if there is one. "
                         "A message mentions this."))
      ->group(reading_group);
}

report_function input_options::wrap_report_function(report_function on_report) const {
  if (!on_report) return on_report;
  return [command = command, on_report = std::move(on_report)](const leat::corruption_report& r) {
    leat::corruption_report report = r;
    report.what = with_option_names(r.what, *command);
    on_report(report);
  };
}

leat::task<std::optional<leat::compression>> input_options::compression_of(std::string path) const {
  if (compression) co_return compression;
  co_return co_await detect_compression(std::move(path));
}

leat::tfrecord_reader_options input_options::make_reader_options(report_function on_report) const {
  leat::tfrecord_reader_options options;
  options.max_record_size = max_record_size;
  set_reader_options(options, std::move(on_report));
  return options;
}

}  // namespace tool
