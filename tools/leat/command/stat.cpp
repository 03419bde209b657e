// leat stat: prints sizes, content and index of files.

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include <leat/base/error.hpp>
#include <leat/io/index/tfrecord_index_file.hpp>

#include "command/commands.hpp"
#include "input/example_text.hpp"
#include "input/file_summary.hpp"
#include "input/for_each_file.hpp"
#include "input/input_options.hpp"
#include "input/paths.hpp"
#include "terminal/numbers.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

struct stat_options {
  input_options files;
  std::uint64_t samples = 100;  // records to decode
};

// A summary of the decoded records.
struct content {
  std::uint64_t sampled = 0;
  std::uint64_t examples = 0;
  struct feature_info {
    std::map<std::string, std::uint64_t> kinds;  // number of records
    std::size_t fewest = SIZE_MAX;
    std::size_t most = 0;
  };
  std::map<std::string, feature_info> features;
};

struct file_info {
  file_summary what;
  std::string index;  // "present", "none", or why it cannot be used
  content sample;
};

void add_record(std::string_view record, content& c) {
  ++c.sampled;
  const auto example = try_decode_example(record);
  if (!example) return;
  ++c.examples;
  for (const auto& [name, value] : example->features) {
    const std::size_t count = value ? value->count() : 0;
    auto& facts = c.features[name];
    ++facts.kinds[std::string(kind_of(value))];
    facts.fewest = std::min(facts.fewest, count);
    facts.most = std::max(facts.most, count);
  }
}

leat::task<content> read_sample(std::string path, const stat_options& options) {
  content c;
  if (options.samples == 0) co_return c;
  const auto reader =
      co_await leat::tfrecord_reader::open(std::move(path), options.files.make_reader_options());
  leat::record_batch batch;
  for (bool more = true; more;) {
    more = co_await reader->read_batch(batch);
    for (const leat::byte_view record : batch) {
      add_record(leat::as_text(record), c);
      if (c.sampled == options.samples) co_return c;
    }
  }
  co_return c;
}

leat::task<std::string> index_state(std::string path) {
  std::string state = "present";
  try {
    const leat::tfrecord_index index = co_await leat::load_tfrecord_index(std::move(path));
  } catch (const leat::failure& e) {
    if (e.code() == leat::errc::cancelled) throw;
    state = e.code() == leat::errc::not_found             ? "none"
            : e.code() == leat::errc::failed_precondition ? "outdated"
                                                          : "unusable";
  }
  co_return state;
}

leat::task<file_info> read_file_info(std::string path, const stat_options& options) {
  file_info facts;
  facts.what = co_await summarize_file(path, options.files, true, true);
  if (is_standard_input(path)) co_return facts;  // can be read only once
  facts.index = co_await index_state(path);
  facts.sample = co_await read_sample(std::move(path), options);
  co_return facts;
}

std::string kinds_text(const content::feature_info& f) {
  std::string text;
  for (const auto& [kind, count] : f.kinds) text += (text.empty() ? "" : " or ") + kind;
  return text;
}

std::string counts_text(const content::feature_info& f) {
  if (f.fewest == f.most) return count_text(f.most, "value");
  return fmt::format("{} to {}", f.fewest, count_text(f.most, "value"));
}

std::string sample_text(const content& c) {
  if (c.sampled == 0) return {};
  std::string text = "  content      ";
  if (c.examples < c.sampled) {
    return text + fmt::format("tf.train.Example, in {} of the first {}\n", c.examples,
                              count_text(c.sampled, "record"));
  }
  text += fmt::format("tf.train.Example, {} in the first {}\n",
                      count_text(c.features.size(), "feature"), count_text(c.sampled, "record"));
  for (const auto& [name, facts] : c.features) {
    std::uint64_t present = 0;
    for (const auto& [kind, count] : facts.kinds) present += count;
    text += fmt::format("    {:<24} {:<6} {}", escape_text(name), kinds_text(facts),
                        counts_text(facts));
    if (present < c.sampled) text += fmt::format(", in {} of {}", present, c.sampled);
    text += "\n";
  }
  return text;
}

// "2.8 KiB (2900)", "17 bytes".
std::string exact_text(std::uint64_t bytes) {
  return bytes < 1024 ? size_text(bytes) : fmt::format("{} ({})", size_text(bytes), bytes);
}

std::string facts_text(const std::string& path, const file_info& f, const palette& paint) {
  const file_summary& s = f.what;
  std::string text = paint.strong(escape_controls(display_path(path))) + "\n";
  const auto line = [&text](std::string_view name, const std::string& value) {
    text += fmt::format("  {:<12} {}\n", name, value);
  };
  if (s.file_bytes > 0) line("size", exact_text(s.file_bytes));
  line("compression", std::string(leat::to_string(s.compression)));
  line("records", fmt::format("{}", s.records));
  line("payload", exact_text(s.payload_bytes));
  if (s.records > 0) {
    line("record size",
         fmt::format("{} to {}, mean {:.1f}, median about {}, 99th percentile about {}",
                     s.sizes.smallest(), size_text(s.sizes.largest()), s.sizes.mean(),
                     size_text(s.sizes.quantile(0.5)), size_text(s.sizes.quantile(0.99))));
  }
  if (!f.index.empty()) line("index", escape_controls(f.index));
  return text + sample_text(f.sample);
}

json sample_json(const content& c) {
  json features = json::object();
  for (const auto& [name, facts] : c.features) {
    add_member(features, name,
               {{"kinds", facts.kinds}, {"fewest", facts.fewest}, {"most", facts.most}});
  }
  return {{"records", c.sampled}, {"examples", c.examples}, {"features", std::move(features)}};
}

json facts_json(const std::string& path, const file_info& f) {
  const file_summary& s = f.what;
  json object{{"path", display_path(path)},
              {"records", s.records},
              {"payload_bytes", s.payload_bytes},
              {"file_bytes", s.file_bytes},
              {"compression", leat::to_string(s.compression)},
              {"source", s.source},
              {"record_size",
               {{"min", s.sizes.smallest()},
                {"max", s.sizes.largest()},
                {"mean", s.sizes.mean()},
                {"p50", s.sizes.quantile(0.5)},
                {"p90", s.sizes.quantile(0.9)},
                {"p99", s.sizes.quantile(0.99)}}}};
  if (!f.index.empty()) object["index"] = f.index;
  if (f.sample.sampled > 0) object["sample"] = sample_json(f.sample);
  return object;
}

void run_stat(const stat_options& options, program& p) {
  const std::vector<std::string> paths = expand_paths(options.files.names);
  const palette paint(p.color);
  const auto work = [&options](std::string path) {
    return read_file_info(std::move(path), options);
  };
  const auto done = [&](const std::string& path, const file_info& f) {
    if (p.json) {
      p.out.write_line(facts_json(path, f));
    } else {
      p.out.write(facts_text(path, f, paint));
    }
  };
  file_loop<file_info>(p, paths, work, done).run();
}

}  // namespace

void add_stat(CLI::App& app, program& p) {
  CLI::App* command =
      add_command(app, p, "stat", "Print sizes, content and index of TFRecord files");
  const auto options = std::make_shared<stat_options>();
  options->files.add_to(*command, false);
  as_number(command->add_option("--samples", options->samples,
                                "Decode the first N records of each file (default: 100)\n\n"
                                "0 decodes no record."));
  command->callback([options, &p] { p.run = [options, &p] { run_stat(*options, p); }; });
}

}  // namespace tool
