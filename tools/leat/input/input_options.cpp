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
  static const compression_choices all{
      {"auto", std::nullopt},
      {"none", leat::compression::none},
      {"zlib", leat::compression::zlib},
      {"gzip", leat::compression::gzip},
  };
  return all;
}

void input_options::add_to(CLI::App& command, bool with_policy) {
  this->command = &command;
  as_path(command.add_option("FILE", names,
                             "Files; '-' is standard input, and so is none.\n"
                             "A quoted pattern such as 'data/*.tfrecord' is matched"))
      ->type_name("");
  add_choice(command, "--compression", compression, compressions(),
             "auto, none, zlib or gzip; auto: told by the first bytes")
      ->type_name("HOW");
  as_size(command.add_option("--max-record-size", max_record_size,
                             "A larger record is damage; 1 GiB unless told otherwise"),
          1);
  as_number(
      command.add_option("--max-ratio", max_ratio,
                         "What is inflated to more than so many times its compressed size is\n"
                         "refused, beyond the first 16 MiB; 256 unless told otherwise"),
      1);
  if (!with_policy) return;
  add_choice(command, "--on-damage", on_damage, damage_policies(),
             "What follows a damaged record. fail: nothing; skip: the next one,\n"
             "where that is known; resync: the next whole one that is found;\n"
             "skip-file: the next file")
      ->type_name("WHAT");
  add_max_held_to(command);
}

void input_options::add_max_held_to(CLI::App& command) {
  as_size(command.add_option("--max-held", max_held,
                             "In what is compressed, or a pipe, a search behind damage passes\n"
                             "over larger records; 16 MiB unless told otherwise"));
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
