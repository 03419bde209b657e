#include "leat/pipeline/plan/record_format.hpp"

#include <array>

#include "leat/codec/tfrecord/tfrecord.hpp"

namespace leat {
namespace {

constexpr std::array<std::string_view, 3> tfrecord_suffixes{".tfrecord", ".tfrecords", ".tfr"};
constexpr std::array<std::string_view, 3> line_suffixes{".txt", ".jsonl", ".log"};
constexpr std::array<std::string_view, 1> csv_suffixes{".csv"};
constexpr std::array<std::string_view, 1> fixed_suffixes{".bin"};

constexpr std::array<record_format_info, 6> formats{{
    {record_format::tfrecord, "tfrecord", false, true, tfrecord_overhead, tfrecord_suffixes},
    {record_format::indexed, "indexed", false, true, tfrecord_overhead, {}},
    {record_format::lines, "lines", true, false, 1, line_suffixes},
    {record_format::csv, "csv", false, false, 0, csv_suffixes},
    {record_format::fixed, "fixed", false, false, 0, fixed_suffixes},
    {record_format::whole_files, "whole_files", false, false, 0, {}},
}};

}  // namespace

std::span<const record_format_info> record_formats() noexcept { return formats; }

}  // namespace leat
