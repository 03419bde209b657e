#include "pipeline/state/state_fields.hpp"

#include "leat/pipeline/state/detail/state_defect.hpp"

namespace LEAT::detail {
namespace {

namespace origins_field {
constexpr field_tag files = 3, offsets = 4, indexes = 5, branches = 6;
}

}  // namespace

void throw_unknown_field() {
  throw state_defect{"has unknown fields: it was saved by a later version of leat",
                     errc::unimplemented};
}

void write_origins(state_writer& to, const std::vector<origin>& all) {
  bool branches = false;
  {
    protozero::packed_field_uint32 files(to, origins_field::files);
    for (const origin& o : all) {
      files.add_element(o.file);
      branches = branches || o.branch != 0;
    }
  }
  {
    protozero::packed_field_uint64 offsets(to, origins_field::offsets);
    for (const origin& o : all) offsets.add_element(o.offset);
  }
  {
    protozero::packed_field_uint64 indexes(to, origins_field::indexes);
    for (const origin& o : all) indexes.add_element(o.index);
  }
  if (!branches) return;
  protozero::packed_field_fixed64 values(to, origins_field::branches);
  for (const origin& o : all) values.add_element(o.branch);
}

void read_origins(state_reader& from, std::vector<origin>& all) {
  switch (from.tag_and_type()) {
    case bytes_key(origins_field::files):
      return read_column(from.get_packed_uint32(), all, [](origin& o, auto v) { o.file = v; });
    case bytes_key(origins_field::offsets):
      return read_column(from.get_packed_uint64(), all, [](origin& o, auto v) { o.offset = v; });
    case bytes_key(origins_field::indexes):
      return read_column(from.get_packed_uint64(), all, [](origin& o, auto v) { o.index = v; });
    case bytes_key(origins_field::branches):
      return read_column(from.get_packed_fixed64(), all, [](origin& o, auto v) { o.branch = v; });
    default: throw_unknown_field();
  }
}

}  // namespace LEAT::detail
