// leat verify: reads all data and checks every checksum.

#include <memory>

#include <fmt/format.h>

#include "command/commands.hpp"
#include "input/corruption_count.hpp"
#include "input/file_probe.hpp"
#include "input/for_each_file.hpp"
#include "input/input_options.hpp"
#include "input/paths.hpp"
#include "terminal/numbers.hpp"
#include "terminal/progress.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

struct verify_options {
  input_options files;
  std::size_t most = 20;  // number of places to list for each file
};

struct verification {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;  // of intact records, with their frames
  corruption_count lost;
  std::uint64_t transient = 0;
  std::vector<leat::corruption_report> places;  // the first ones
};

leat::task<verification> verify_file(std::string path, const verify_options& options,
                                     progress& shown) {
  verification v;
  leat::tfrecord_reader_options reading =
      options.files.make_reader_options([&v, &options](const leat::corruption_report& r) {
        if (!v.lost.add(r)) {
          ++v.transient;
        } else if (v.places.size() < options.most) {
          v.places.push_back(r);
        }
      });
  reading.corruption.policy = leat::corruption_policy::resync;
  const auto reader = co_await leat::tfrecord_reader::open(std::move(path), std::move(reading));
  leat::record_batch batch;
  for (bool more = true; more;) {
    more = co_await reader->read_batch(batch);
    std::uint64_t bytes = batch.size() * leat::tfrecord_overhead;
    for (const leat::byte_view record : batch) bytes += record.size();
    v.records += batch.size();
    v.bytes += bytes;
    shown.add(bytes);
  }
  co_return v;
}

std::string verification_text(const std::string& path, const verification& v,
                              const palette& paint) {
  std::string text = v.lost.regions == 0 ? paint.good("ok     ") : paint.bad("damaged");
  text += fmt::format(" {}: {}, {}", escape_controls(display_path(path)),
                      count_text(v.records, "record"), size_text(v.bytes));
  if (v.lost.regions > 0) {
    text += fmt::format("; damaged in {}, {} lost", count_text(v.lost.regions, "place"),
                        size_text(v.lost.bytes));
  }
  if (v.transient > 0) {
    text += "; " + paint.doubtful(fmt::format("{} intact only after a second read",
                                              count_text(v.transient, "record")));
  }
  text += "\n";
  for (const leat::corruption_report& r : v.places) {
    text += fmt::format("          record {} at offset {}: {}; {} lost\n", r.index, r.offset,
                        r.what, size_text(r.skipped));
  }
  if (v.lost.regions > v.places.size()) {
    text += fmt::format("          and {} more: raise --list to list them\n",
                        v.lost.regions - v.places.size());
  }
  return text;
}

json verification_json(const std::string& path, const verification& v) {
  json places = json::array();
  for (const leat::corruption_report& r : v.places) {
    json place{{"index", r.index}, {"offset", r.offset}, {"message", r.what}};
    if (r.expected_crc) place["expected_crc"] = *r.expected_crc;
    if (r.actual_crc) place["actual_crc"] = *r.actual_crc;
    place["lost_bytes"] = r.skipped;
    places.push_back(std::move(place));
  }
  return {{"path", display_path(path)}, {"ok", v.lost.regions == 0},  {"records", v.records},
          {"bytes", v.bytes},           {"damaged", v.lost.regions},  {"lost_bytes", v.lost.bytes},
          {"transient", v.transient},   {"places", std::move(places)}};
}

void run_verify(const verify_options& options, program& p) {
  const std::vector<std::string> paths = expand_paths(options.files.names);
  const palette paint(p.color);
  progress shown_progress("verify", bytes_of(paths), p.quiet);
  const auto work = [&](std::string path) {
    return verify_file(std::move(path), options, shown_progress);
  };
  const auto done = [&](const std::string& path, const verification& v) {
    if (v.lost.regions > 0) p.set_status(status::data);
    if (p.json) {
      p.out.write_line(verification_json(path, v));
    } else {
      p.out.write(verification_text(path, v, paint));
    }
  };
  file_loop<verification>(p, paths, work, done).run();
}

}  // namespace

void add_verify(CLI::App& app, program& p) {
  CLI::App* command =
      add_command(app, p, "verify", "Check every checksum of TFRecord files; list the damage");
  const auto options = std::make_shared<verify_options>();
  options->files.add_to(*command, false);
  options->files.add_max_held_to(*command);
  as_number(command->add_option("--list", options->most,
                                "List at most N damaged places of each file (default: 20)"));
  command->callback([options, &p] { p.run = [options, &p] { run_verify(*options, p); }; });
}

}  // namespace tool
