// Creation of an indexed_reader, at the beginning or from a saved state.

#include <algorithm>
#include <span>
#include <system_error>
#include <utility>

#include "io/file/batched_reads.hpp"
#include "io/file/open_file_cache.hpp"
#include "leat/base/error.hpp"
#include "leat/base/random.hpp"
#include "leat/io/index/indexed_reader.hpp"

namespace LEAT {

namespace {

std::vector<std::uint64_t> records_of(const std::vector<std::unique_ptr<tfrecord_file>>& files) {
  std::vector<std::uint64_t> records;
  for (const auto& f : files) records.push_back(f->size());
  return records;
}

template <class... Numbers>
void add_numbers(epoch_fingerprint& to, std::uint64_t key, Numbers... numbers) {
  const std::uint64_t all[] = {static_cast<std::uint64_t>(numbers)...};
  to.add(key, std::as_bytes(std::span(all)));
}

}  // namespace

void indexed_reader::check_options(const indexed_reader_options& o) {
  const auto throw_error = [&](const std::string& why) {
    throw failure(errc::invalid_argument, o.name + ": " + why);
  };
  tfrecord_file::check_options(o.file, o.name);
  static_cast<void>(epoch_order({}, o.shuffle, 0, o.world, o.shard));  // throws for invalid options
  if (o.batch_size == 0) throw_error("batch_size is 0, must be 1 or more");
  if (o.max_open_files == 0) throw_error("max_open_files is 0, must be 1 or more");
  if (o.num_epochs == std::uint64_t{0}) throw_error("num_epochs is 0: leave it unset for no limit");
  if (o.corruption.policy == corruption_policy::skip_file) {
    throw_error(
        "corruption_policy::skip_file is not supported by an index: use "
        "corruption_policy::skip_record");
  }
}

void indexed_reader::check_seed(const indexed_reader_options& o) {
  if (o.seed || !o.shuffle || o.world.world_size <= 1) return;
  throw failure(errc::invalid_argument, o.name + ": shuffle with " +
                                            std::to_string(o.world.world_size) +
                                            " ranks needs a seed: set the same seed in all ranks");
}

// Without this check, a rank without records would search for one forever.
void indexed_reader::check_ranks() const {
  const shard_options& shard = options_.shard;
  const bool by_files = shard.by == shard_by::files;
  const std::uint64_t parts = by_files ? static_cast<std::uint64_t>(std::ranges::count_if(
                                             files_, [](const auto& f) { return f->size() > 0; }))
                                       : size();
  const bool repeats = !by_files && shard.remainder == shard_remainder::repeat;
  if (size() == 0 || repeats || options_.world.world_size <= parts) return;
  throw failure(errc::invalid_argument,
                options_.name + ": " + std::to_string(parts) +
                    (by_files ? " files with records for " : " records for ") +
                    std::to_string(options_.world.world_size) +
                    " ranks, so a rank would have no records" +
                    (by_files ? ": use shard_by::records" : ": use fewer ranks"));
}

task<std::unique_ptr<indexed_reader>> indexed_reader::open(option_list<std::string> paths,
                                                           indexed_reader_options options,
                                                           std::source_location where) {
  check_options(options);
  std::vector<std::unique_ptr<tfrecord_file>> files;
  // Invariant: of `files`, the first `open` are open, and the others are closed temporarily.
  std::size_t open = 0;  // the first ones
  for (std::string& path : paths) {
    std::unique_ptr<tfrecord_file> f;
    while (!f) {
      try {
        f = co_await tfrecord_file::open(path, options.file, where);
      } catch (const failure& e) {
        const bool is_short = e.code() == std::errc::too_many_files_open ||
                              e.code() == std::errc::too_many_files_open_in_system;
        if (open == 0 || !is_short) throw;
        // Their descriptors are needed for the remaining files, which are opened one at a time from
        // here on.
        for (; open > 0; --open) detail::close_temporarily(*files[open - 1]->file_.open_handle());
      }
    }
    files.push_back(std::move(f));
    if (open < files.size() - 1 || open == options.max_open_files) {
      detail::close_temporarily(*files.back()->file_.open_handle());
    } else {
      ++open;
    }
  }
  co_return std::make_unique<indexed_reader>(std::move(files), std::move(options));
}

indexed_reader::indexed_reader(std::vector<std::unique_ptr<tfrecord_file>> files,
                               indexed_reader_options options)
    : files_(std::move(files)),
      options_(std::move(options)),
      order_(records_of(files_), options_.shuffle, seed_or_random(options_.seed), options_.world,
             options_.shard) {
  check_options(options_);
  if (files_.empty())
    throw failure(errc::invalid_argument, options_.name + ": no files: pass one or more paths");
  check_ranks();

  std::vector<std::shared_ptr<detail::file_handle>> handles;
  std::vector<detail::file_at_open> known;
  auto paths = std::make_shared<std::vector<std::shared_ptr<const std::string>>>();
  identity_.files = files_.size();
  identity_.records = size();
  for (std::uint64_t number = 0; const auto& f : files_) {
    handles.push_back(f->file_.open_handle());
    paths->push_back(f->path_);
    const tfrecord_fingerprint& fingerprint = f->index().fingerprint();
    known.push_back({f->path_, f->file_.status()});
    identity_.size += fingerprint.size;
    add_numbers(identity_.contents, number, fingerprint.size, f->size(), fingerprint.sample);
    add_numbers(identity_.times, number, fingerprint.modified_ns);
    ++number;
  }
  identity_.shuffle = options_.shuffle;
  identity_.seed = order_.seed();
  identity_.by = options_.shard.by;
  identity_.world_size = options_.world.world_size;
  paths_ = std::move(paths);
  // Shared by reads_, and by the files, which reopen themselves for reads out of order.
  const auto all = std::make_shared<detail::open_file_cache>(std::move(handles), std::move(known),
                                                             options_.max_open_files);
  for (std::size_t n = 0; n < files_.size(); ++n) {
    files_[n]->reader_files_ = all;
    files_[n]->number_ = n;
  }
  reads_ = std::make_shared<detail::batched_reads>(all, options_.file.depth);
}

indexed_reader_state indexed_reader::state() const {
  indexed_reader_state s = identity_;
  s.epoch = next_.epoch;
  s.position = next_.position;
  if (s.epoch == resharded_.epoch) s.parts = resharded_.parts;
  return s;
}

void indexed_reader::begin_epoch(epoch_order& order, std::uint64_t epoch) const {
  std::span<const epoch_part> parts;
  if (epoch == resharded_.epoch) parts = resharded_.parts;
  order.begin(epoch, parts);
}

void indexed_reader::restore_state(std::string_view bytes) {
  const detail::exclusive_use::guard guard(in_use_);
  restore_from(indexed_reader_state::from_bytes(bytes, options_.name));
}

void indexed_reader::restore_ranks(std::span<const std::string> states) {
  const detail::exclusive_use::guard guard(in_use_);
  std::vector<indexed_reader_state> ranks;
  for (const std::string& bytes : states) {
    ranks.push_back(indexed_reader_state::from_bytes(bytes, options_.name));
    check_files(ranks.back());
  }
  if (ranks.size() == options_.world.world_size) {
    return restore_from(std::move(ranks[static_cast<std::size_t>(options_.world.rank)]));
  }
  restore_from(indexed_reader_state::reshard(ranks, records_of(files_), options_.shard.remainder,
                                             options_.name));
}

void indexed_reader::restore_from(indexed_reader_state s) {
  check_state(s);
  // All that can fail comes first, on a new order; the assignments cannot fail. An epoch that was
  // not redistributed is started by plan().
  epoch_order order(records_of(files_), options_.shuffle, s.seed, options_.world, options_.shard);
  if (!s.parts.empty()) order.begin(s.epoch, s.parts);
  order_ = std::move(order);
  resharded_ = {s.epoch, std::move(s.parts)};
  identity_.seed = s.seed;
  has_common_order_ = true;
  next_ = {s.epoch, s.position};
  batch_epoch_ = s.epoch;
  error_ = nullptr;
  reads_ahead_ = false;
  drop_reads_ahead();
}

void indexed_reader::check_files(const indexed_reader_state& s) const {
  const auto throw_error = [this](const std::string& why) {
    throw failure(errc::failed_precondition, options_.name + ": cannot resume: " + why);
  };
  const auto compare = [&](std::uint64_t then, std::uint64_t now, const std::string& what) {
    if (then == now) return;
    throw_error("state has " + std::to_string(then) + ' ' + what + ", the reader has " +
                std::to_string(now));
  };
  compare(s.files, identity_.files, "files");
  compare(s.records, identity_.records, "records");
  compare(s.size, identity_.size, "bytes");
  if (s.contents != identity_.contents) {
    throw_error("files differ from those of the state in size, contents or order");
  }
  if (s.times != identity_.times) {
    throw_error("modification time of a file has changed since the state was saved");
  }
}

void indexed_reader::check_state(const indexed_reader_state& s) const {
  const auto throw_error = [this](const std::string& why) {
    throw failure(errc::failed_precondition, options_.name + ": cannot resume: " + why);
  };
  check_files(s);
  if (s.shuffle != identity_.shuffle) {
    throw_error(s.shuffle ? "state was saved with shuffle: set shuffle to true"
                          : "state was saved without shuffle: set shuffle to false");
  }
  if (options_.seed && s.seed != *options_.seed) {
    throw_error("state has the seed " + std::to_string(s.seed) + ", the options have " +
                std::to_string(*options_.seed));
  }
  const bool has_begun = s.position > 0 || !s.parts.empty();
  const std::uint64_t begun = s.epoch + (has_begun ? 1 : 0);
  if (options_.num_epochs && begun > *options_.num_epochs) {
    throw_error("state has started " + std::to_string(begun) + " epochs, but num_epochs is " +
                std::to_string(*options_.num_epochs));
  }
  if (!has_begun) return;
  const bool by_files = s.by == shard_by::files;
  if (s.by != options_.shard.by) {
    throw_error(std::string("state is in the middle of an epoch with ") +
                (by_files ? "shard_by::files: set shard_by::files"
                          : "shard_by::records: set shard_by::records"));
  }
  if (s.is_within_rank_order() && s.world_size != options_.world.world_size) {
    throw_error("state is in the middle of an epoch that divides its files among " +
                std::to_string(s.world_size) + " ranks, but world_size is " +
                std::to_string(options_.world.world_size) + ": pass the states of all " +
                std::to_string(s.world_size) + " ranks to restore_ranks()");
  }
}

}  // namespace LEAT
