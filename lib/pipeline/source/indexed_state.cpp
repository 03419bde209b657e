#include "leat/pipeline/source/detail/indexed_state.hpp"

#include <algorithm>

#include "leat/io/index/indexed_reader_state.hpp"
#include "leat/pipeline/source/detail/files_state.hpp"
#include "pipeline/source/version_fields.hpp"
#include "pipeline/state/state_fields.hpp"

namespace LEAT::detail {
namespace {

namespace indexed_field {  // of the stage
constexpr field_tag reader = 7, seed = 8, rank = 9, world_size = 10, versions = 11;
}

}  // namespace

std::string indexed_state::write() const {
  std::string own;
  state_writer to(own);
  if (!reader.empty()) to.add_bytes(indexed_field::reader, reader);
  if (seed) to.add_fixed64(indexed_field::seed, *seed);
  if (rank.world_size != 1) {
    to.add_uint64(indexed_field::rank, rank.rank);
    to.add_uint64(indexed_field::world_size, rank.world_size);
  }
  if (versions.empty()) return own;
  state_writer message(to, indexed_field::versions);
  write_versions(message, versions);
  message.commit();
  return own;
}

void indexed_state::read(std::string_view own, const std::vector<setting>&) {
  read_fields(own, [this](state_reader& from) {
    switch (from.tag_and_type()) {
      case bytes_key(indexed_field::reader): reader = from.get_bytes(); break;
      case fixed64_key(indexed_field::seed): seed = from.get_fixed64(); break;
      case varint_key(indexed_field::rank): rank.rank = from.get_uint64(); break;
      case varint_key(indexed_field::world_size): rank.world_size = from.get_uint64(); break;
      case bytes_key(indexed_field::versions):
        read_fields(get_bytes(from), [this](state_reader& f) { read_versions(f, versions); });
        break;
      default: throw_unknown_field();
    }
  });
}

// The states of the readers of all ranks. A rank that had not started is at the beginning.
void indexed_state::merge(const std::vector<const stage_state*>& ranks, rank_share& share) {
  std::vector<const indexed_state*> all;
  std::vector<std::optional<std::uint64_t>> seeds;
  for (const stage_state* of_rank : ranks) {
    all.push_back(static_cast<const indexed_state*>(of_rank));
    seeds.push_back(all.back()->seed);
  }
  require_one_seed(seeds);
  seed = seeds.front();
  const auto is_open = [](const indexed_state* s) { return !s->reader.empty(); };
  const auto open = std::ranges::find_if(all, is_open);
  if (open == all.end()) return;
  auto begin = indexed_reader_state::from_bytes((*open)->reader, share.stage);
  begin.epoch = begin.position = 0;
  begin.parts.clear();
  for (const indexed_state* s : all) {
    readers.push_back(is_open(s) ? s->reader : begin.to_bytes());
  }
  versions = (*open)->versions;
}

}  // namespace LEAT::detail
