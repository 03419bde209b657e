#include "input/file_summary.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include <leat/base/error.hpp>
#include <leat/io/file/file.hpp>
#include <leat/io/index/tfrecord_index_file.hpp>

namespace tool {

void size_distribution::add(std::uint64_t size) noexcept {
  ++buckets_[bucket_of(size)];
  ++count_;
  total_ += size;
  smallest_ = std::min(smallest_, size);
  largest_ = std::max(largest_, size);
}

double size_distribution::mean() const noexcept {
  return count_ == 0 ? 0 : static_cast<double>(total_) / static_cast<double>(count_);
}

// Sizes below `steps` have a bucket each; above, a power of two has `steps` of them.
std::size_t size_distribution::bucket_of(std::uint64_t size) noexcept {
  if (size < steps) return static_cast<std::size_t>(size);
  const auto power = static_cast<std::size_t>(std::bit_width(size)) - 1;
  const auto step = static_cast<std::size_t>(size >> (power - 4)) - steps;
  return (power - 3) * steps + step;
}

std::uint64_t size_distribution::top_of(std::size_t bucket) noexcept {
  if (bucket < steps) return bucket;
  const std::size_t power = bucket / steps + 3;
  const std::uint64_t next = steps + bucket % steps + 1;
  return (next << (power - 4)) - 1;
}

std::uint64_t size_distribution::quantile(double part) const noexcept {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(part * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    seen += buckets_[b];
    if (seen > 0 && seen >= wanted) return std::clamp(top_of(b), smallest(), largest_);
  }
  return largest_;
}

namespace {

void add_index(const leat::tfrecord_index& index, bool sizes, file_summary& s) {
  s.records = index.size();
  s.payload_bytes = index.payload_size();
  s.file_bytes = index.fingerprint().size;
  if (!sizes) return;
  for (std::uint64_t i = 0; i < index.size(); ++i) s.sizes.add(index[i].size);
}

leat::task<> read_all(std::string path, const input_options& how, file_summary& s) {
  leat::tfrecord_reader_options options = how.make_reader_options();
  options.checks = leat::tfrecord_checks::header_only;
  const auto reader = co_await leat::tfrecord_reader::open(std::move(path), std::move(options));
  s.file_bytes = reader->status().size;
  leat::record_batch batch;
  for (bool more = true; more;) {
    more = co_await reader->read_batch(batch);
    s.records += batch.size();
    for (const leat::byte_view record : batch) {
      s.payload_bytes += record.size();
      s.sizes.add(record.size());
    }
  }
}

}  // namespace

leat::task<std::optional<leat::tfrecord_index>> find_index(std::string path) {
  try {
    co_return co_await leat::load_tfrecord_index(std::move(path));
  } catch (const leat::failure& e) {
    if (e.code() == leat::errc::cancelled) throw;
  }
  co_return std::nullopt;
}

leat::task<file_summary> summarize_file(std::string path, const input_options& how, bool use_index,
                                        bool sizes) {
  file_summary s;
  const auto compression = co_await how.compression_of(path);
  s.compression = compression.value_or(leat::compression::none);
  if (compression != leat::compression::none) {
    s.source = "records";
    co_await read_all(std::move(path), how, s);
    co_return s;
  }
  std::optional<leat::tfrecord_index> index;
  s.source = "index";
  if (use_index) index = co_await find_index(path);
  if (!index) {
    s.source = "headers";
    index = co_await leat::build_tfrecord_index(std::move(path));
  }
  add_index(*index, sizes, s);
  co_return s;
}

}  // namespace tool
