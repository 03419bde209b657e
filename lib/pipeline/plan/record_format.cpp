#include "leat/pipeline/plan/record_format.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>

#include "leat/codec/tfrecord/tfrecord.hpp"
#include "leat/pipeline/plan/pipeline_plan.hpp"

namespace LEAT {
namespace {

constexpr std::array<std::string_view, 3> tfrecord_suffixes{".tfrecord", ".tfrecords", ".tfr"};
constexpr std::array<std::string_view, 3> line_suffixes{".txt", ".jsonl", ".log"};
constexpr std::array<std::string_view, 1> csv_suffixes{".csv"};
constexpr std::array<std::string_view, 1> fixed_suffixes{".bin"};

constexpr auto formats = std::to_array<record_format_info>({
    {record_format::tfrecord, "tfrecord", false, true, tfrecord_overhead, tfrecord_suffixes},
    {record_format::indexed, "indexed", false, true, tfrecord_overhead, {}},
    {record_format::lines, "lines", true, false, 1, line_suffixes},
    {record_format::csv, "csv", false, false, 0, csv_suffixes},
    {record_format::fixed, "fixed", false, false, 0, fixed_suffixes},
    {record_format::whole_files, "whole_files", false, false, 0, {}},
});

// The enumerators are in the order of the sources.
template <record_format Format, class Source>
constexpr bool is_source_of =
    std::is_same_v<std::variant_alternative_t<static_cast<std::size_t>(Format), plan_source>,
                   Source>;
static_assert(is_source_of<record_format::tfrecord, file_source<tfrecord_reader>> &&
              is_source_of<record_format::indexed, indexed_source> &&
              is_source_of<record_format::lines, file_source<line_reader>> &&
              is_source_of<record_format::csv, file_source<csv_reader>> &&
              is_source_of<record_format::fixed, file_source<fixed_length_reader>> &&
              is_source_of<record_format::whole_files, file_source<whole_file_reader>>);

}  // namespace

std::span<const record_format_info> record_formats() noexcept { return formats; }

}  // namespace LEAT
