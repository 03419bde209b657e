// Reads the table [source] of a pipeline file.

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <variant>

#include "input/input_options.hpp"
#include "input/paths.hpp"
#include "plan/declared_plan.hpp"

namespace tool {
namespace {

using check_choices = std::map<std::string, leat::tfrecord_checks, std::less<>>;
const check_choices checks{{"all", leat::tfrecord_checks::all},
                           {"header_only", leat::tfrecord_checks::header_only},
                           {"none", leat::tfrecord_checks::none}};
const std::map<std::string, leat::shard_by, std::less<>> shares{
    {"records", leat::shard_by::records}, {"files", leat::shard_by::files}};
const std::map<std::string, leat::shard_remainder, std::less<>> shard_remainders{
    {"keep", leat::shard_remainder::keep},
    {"drop", leat::shard_remainder::drop},
    {"repeat", leat::shard_remainder::repeat}};

constexpr std::int64_t max_read = std::int64_t{1} << 30;  // read_options::chunk_size
constexpr std::int64_t max_depth = 1024;

void read_corruption(toml_table& s, leat::corruption_options& to) {
  to.max_reports = UINT64_MAX;
  s.choose("on_damage", to.policy, damage_policies());
  s.read("max_reports", to.max_reports, 0);
}

// Reads the options of all readers except indexed ones.
template <class Options>
void read_reading(toml_table& s, Options& to) {
  to.compression.reset();
  s.choose("compression", to.compression, compressions());
  s.read("max_ratio", to.decompression.max_ratio, 1);
  s.read_size("max_output", to.decompression.max_output);
  s.read_size("free_output", to.decompression.free_output, 0);
  read_corruption(s, to.corruption);
  s.read_size("max_held", to.corruption.max_held, 0);
  s.read_size("chunk_size", to.read.chunk_size, 1, max_read);
  s.read("depth", to.read.depth, 1, max_depth);
  s.read("direct", to.read.direct);
  s.read("regular_only", to.read.regular_only);
}

void read_format(toml_table& s, leat::tfrecord_reader_options& to) {
  s.choose("checks", to.checks, checks);
  s.read_size("max_record_size", to.max_record_size, 0);
  s.read("tolerate_truncated_tail", to.tolerate_truncated_tail);
}

void read_format(toml_table& s, leat::line_reader_options& to) {
  s.read("skip_header_lines", to.skip_header_lines, 0);
  s.read_size("max_line_size", to.max_line_size, 0);
}

void read_format(toml_table& s, leat::csv_reader_options& to) {
  s.read("skip_header_records", to.skip_header_records, 0);
  read_delimiter(s, to.delimiter);
  s.read("quotes", to.quotes);
  s.read("skip_blank_lines", to.skip_blank_lines);
  s.read_size("max_record_size", to.max_record_size);
}

void read_format(toml_table& s, leat::fixed_length_reader_options& to) {
  if (s.require("record_size", "the bytes of each record"))
    s.read_size("record_size", to.record_size);
  s.read_size("header_size", to.header_size, 0);
  s.read_size("footer_size", to.footer_size, 0);
  s.read_size("hop_size", to.hop_size, 0);
}

void read_format(toml_table& s, leat::whole_file_reader_options& to) {
  s.read_size("max_file_size", to.max_file_size, 0);
}

// Reads the keys of all sources.
template <class Options>
void read_common(toml_table& s, Options& to) {
  s.read("name", to.name);
  const toml_value* const epochs = s.find("num_epochs");
  const std::string* const text = epochs ? epochs->as<std::string>() : nullptr;
  if (text && *text == "endless") {
    to.num_epochs.reset();
  } else if (text) {
    s.add_error("num_epochs", "give a whole number of 1 or more, or \"endless\"");
  } else {
    s.read("num_epochs", to.num_epochs, 1);
  }
  s.read("shuffle", to.shuffle);
  s.read("seed", to.seed, 0);
  s.read("world_size", to.world.world_size, 1, std::int64_t{1} << 32);
  s.read("rank", to.world.rank, 0);
  if (to.world.rank >= to.world.world_size) s.add_error("rank", "give a number below world_size");
}

template <class Reader>
void read_keys(toml_table& s, leat::file_source<Reader>& source) {
  s.read("interleave", source.interleave, 1, 1024);
  s.read("block_length", source.block_length, 1);
  s.read("readers", source.readers, 0, 1024);
  read_reading(s, source.reader);
  read_format(s, source.reader);
}

void read_keys(toml_table& s, leat::indexed_source& source) {
  leat::indexed_reader_options& to = source.reader;
  s.choose("shard_by", to.shard.by, shares);
  s.choose("last", to.shard.remainder, shard_remainders);
  s.read("batch_size", to.batch_size, 1);
  s.read("records_ahead", to.records_ahead, 0);
  s.read_size("max_bytes", to.max_bytes);
  s.read("max_open_files", to.max_open_files, 1);
  s.choose("checks", to.file.checks, checks);
  s.read_size("max_record_size", to.file.max_record_size, 0);
  s.read("depth", to.file.depth, 1, max_depth);
  s.read_size("max_gap", to.file.max_gap, 0);
  read_corruption(s, to.corruption);
  if (to.corruption.policy == leat::corruption_policy::skip_file) {
    s.add_error("on_damage",
                "format \"indexed\" has no \"skip-file\": give \"fail\", \"skip\" or \"resync\"");
  }
}

}  // namespace

void read_source(toml_table& s, const std::vector<std::string>& files, declared_plan& plan) {
  std::string chosen = "tfrecord";
  static_cast<void>(s.find("format"));
  if (s.has("format")) {
    const std::string* const name = s.choose_name("format", all_formats());
    if (!name) return;
    chosen = *name;
  }
  if (files.empty()) static_cast<void>(s.require("files", "a list of files or patterns"));
  s.rename("[source] of format '" + chosen + "'");
  plan.pipeline.source = leat::make_plan_source(chosen);
  std::visit(
      [&](auto& source) {
        auto& common = common_options(source);
        common.name = "files";
        common.num_epochs = 1;
        read_common(s, common);
        s.read("files", source.files);
        read_keys(s, source);
        if (!files.empty()) source.files = files;
        for (std::string& file : source.files) file = prefer_name(resolve_path(std::move(file)));
        if (common.num_epochs != std::uint64_t{1} &&
            std::ranges::any_of(source.files, is_standard_input)) {
          s.add_error("num_epochs", "give 1: standard input can be read only once");
        }
      },
      plan.pipeline.source);
  s.read("quarantine", plan.quarantine);
  s.reject_unknown_keys();
}

}  // namespace tool
