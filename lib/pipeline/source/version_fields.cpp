#include "pipeline/source/version_fields.hpp"

namespace LEAT::detail {
namespace {

namespace versions_field {
constexpr field_tag paths = 7, sizes = 8, times = 9;
}

}  // namespace

void write_versions(state_writer& to, const std::vector<saved_file_version>& all) {
  {
    protozero::packed_field_fixed32 paths(to, versions_field::paths);
    for (const saved_file_version& f : all) paths.add_element(f.path);
  }
  {
    protozero::packed_field_uint64 sizes(to, versions_field::sizes);
    // 0 is a file that was not read, so a size is stored as size + 1.
    for (const saved_file_version& f : all) sizes.add_element(f.read ? f.size + 1 : 0);
  }
  protozero::packed_field_sfixed64 times(to, versions_field::times);
  for (const saved_file_version& f : all) times.add_element(f.modified_ns);
}

void read_versions(state_reader& from, std::vector<saved_file_version>& all) {
  switch (from.tag_and_type()) {
    case bytes_key(versions_field::paths):
      return read_column(from.get_packed_fixed32(), all,
                         [](saved_file_version& f, auto v) { f.path = v; });
    case bytes_key(versions_field::sizes):
      return read_column(from.get_packed_uint64(), all, [](saved_file_version& f, auto v) {
        f.read = v > 0;
        f.size = v > 0 ? v - 1 : 0;
      });
    case bytes_key(versions_field::times):
      return read_column(from.get_packed_sfixed64(), all,
                         [](saved_file_version& f, auto v) { f.modified_ns = v; });
    default: throw_unknown_field();
  }
}

}  // namespace LEAT::detail
