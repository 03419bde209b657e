// The stages of a pipeline file: reads their keys, and describes them.

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "plan/declared_plan.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

const std::map<std::string, leat::batch_remainder, std::less<>> batch_remainders{
    {"keep", leat::batch_remainder::keep}, {"drop", leat::batch_remainder::drop}};

void read_keys(toml_table& s, leat::shuffle_stage_options& to) {
  if (s.require("capacity", "the number of elements in the buffer"))
    s.read("capacity", to.capacity, 1);
  s.read("seed", to.seed, 0);
}

void read_keys(toml_table& s, leat::batch_stage_options& to) {
  if (s.require("size", "the number of elements of a batch")) s.read("size", to.batch_size, 1);
  s.choose("last", to.remainder, batch_remainders);
}

void read_keys(toml_table& s, leat::prefetch_stage_options& to) {
  if (s.require("blocks", "the number of blocks of elements to read ahead"))
    s.read("blocks", to.blocks, 1);
}

template <class Decoder>
void read_keys(toml_table& s, Decoder& to) {
  s.read("workers", to.workers, 0, 1024);
  read_decoder(s, to);
}

std::string options_text(const leat::shuffle_stage_options& o) {
  return fmt::format("capacity {}", o.capacity);
}
std::string options_text(const leat::batch_stage_options& o) {
  const bool full = o.remainder == leat::batch_remainder::drop;
  return fmt::format("{} each{}", o.batch_size, full ? ", full batches only" : "");
}
std::string options_text(const leat::prefetch_stage_options& o) {
  return fmt::format("{} ahead", count_text(o.blocks, "block"));
}
std::string options_text(const leat::csv_stage_options& o) {
  return count_text(o.columns.size(), "column") +
         (o.header || o.has_header_in_files ? " by header" : "");
}
std::string options_text(const leat::example_stage_options& o) {
  return count_text(o.features.size(), "feature");
}
std::string options_text(const leat::sequence_example_stage_options& o) {
  return count_text(o.context.size(), "context feature") + ", " +
         count_text(o.sequences.size(), "sequence");
}
std::string options_text(const leat::raw_stage_options& o) {
  return std::string(leat::to_string(o.type));
}

}  // namespace

leat::plan_stage read_stage(toml_table& s) {
  std::vector<std::string_view> kinds(leat::plan_stage_kinds.begin(), leat::plan_stage_kinds.end());
  std::ranges::sort(kinds);
  const std::string* const kind = s.choose_one("kind", kinds);
  if (!kind) return {};
  s.rename(s.title() + " of kind '" + *kind + "'");
  leat::plan_stage stage = leat::make_plan_stage(*kind);
  std::visit(
      [&](auto& options) {
        s.read("name", options.name);
        read_keys(s, options);
      },
      stage);
  s.reject_unknown_keys();
  return stage;
}

std::string describe_stage(const leat::plan_stage& stage) {
  return std::visit(
      [](const auto& options) {
        std::string text = options_text(options);
        if constexpr (requires { options.workers; }) {
          if (options.workers > 0) text += ", " + count_text(options.workers, "worker");
        }
        return text;
      },
      stage);
}

}  // namespace tool
