// Reads the header lines of CSV files.

#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <leat/base/error.hpp>
#include <leat/io/file/match_files.hpp>

#include "input/paths.hpp"
#include "plan/pipeline_plan.hpp"
#include "terminal/status.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

// Returns the last line that the source skips, or nothing if the file ends before it.
leat::task<std::optional<std::string>> header_line(std::string path,
                                                   leat::line_reader_options how) {
  --how.skip_header_lines;
  how.corruption = {};
  const auto reader = co_await leat::line_reader::open(std::move(path), std::move(how));
  leat::line_batch lines;
  while (co_await reader->read_batch(lines)) {
    if (!lines.empty()) co_return std::string(lines[0]);
  }
  co_return std::nullopt;
}

// A UTF-8 byte order mark does not belong to a name.
std::string_view strip_byte_order_mark(std::string_view line) {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  return line.starts_with(mark) ? line.substr(mark.size()) : line;
}

std::string excerpt(std::string_view line) {
  constexpr std::size_t most = 80;
  return line.size() <= most ? escape_text(line) : escape_text(line.substr(0, most)) + "...";
}

struct file_header {
  std::string path;
  std::string line;
};

// Returns the header of all files, which must be the same.
leat::task<std::optional<file_header>> common_header(
    const leat::file_source<leat::line_reader>& source, text_position stage) {
  std::optional<file_header> first;
  for (std::string& path : co_await leat::match_files(source.files)) {
    std::error_code unknown;  // opening the file reports the error
    if (std::filesystem::exists(path, unknown) &&
        !std::filesystem::is_regular_file(path, unknown)) {
      throw toml_error{stage, fmt::format("header = true cannot read '{}', which can be read only "
                                          "once: give the header line as a text",
                                          escape_text(display_path(path)))};
    }
    std::optional<std::string> line = co_await header_line(path, source.reader);
    if (!line) continue;
    if (!first) {
      first.emplace(file_header{std::move(path), std::move(*line)});
    } else if (strip_byte_order_mark(*line) != strip_byte_order_mark(first->line)) {
      throw leat::failure(leat::errc::data_loss,
                          fmt::format("{}: header differs from {}: '{}' and '{}'", path,
                                      first->path, excerpt(strip_byte_order_mark(*line)),
                                      excerpt(strip_byte_order_mark(first->line))));
    }
  }
  co_return first;
}

}  // namespace

leat::task<> read_headers(pipeline_plan& plan) {
  for (stage_plan& stage : plan.stages) {
    auto* const decoder = std::get_if<decoder_plan>(&stage.what);
    if (!decoder || !decoder->for_header) continue;
    const auto& source = std::get<leat::file_source<leat::line_reader>>(plan.source.from);
    const std::optional<file_header> header = co_await common_header(source, stage.where);
    if (!header) continue;  // there are no records either
    try {
      decoder->decode = decoder->for_header(header->line);
    } catch (const leat::failure& e) {
      throw toml_error{stage.where, fmt::format("{}: {}", header->path, message_of(e))};
    }
  }
}

}  // namespace tool
