// leat's file classes. The unit is GB/s, or seconds of CPU time per GB.
//
// file/hot                 a file in the page cache, 256 KiB per call of file::read_at()
// file/cold                a file that is not cached, through a reader of records of 3,073 bytes
// file/cold-direct         like file/cold, with direct I/O
// files/small-hot          whole small files in the page cache
// files/small-cold         whole small files that are not cached; their directory is cached
// files/small-cold-direct  like files/small-cold, with direct I/O

#include <string>
#include <vector>

#include <leat/leat.hpp>

#include "support/bench.hpp"
#include "support/page_cache.hpp"

namespace {

leat::task<std::size_t> read_pieces(std::string path) {
  leat::file f = co_await leat::file::open(std::move(path));
  std::vector<std::byte> buffer(256 << 10);
  std::size_t bytes = 0;
  for (std::size_t n = 1; n > 0; bytes += n) n = co_await f.read_at(bytes, buffer);
  co_return bytes;
}

leat::task<std::size_t> read_records(std::string path, leat::read_options how) {
  auto reader =
      co_await leat::fixed_length_reader::open(std::move(path), {.record_size = 3073, .read = how});
  leat::record_batch batch;
  std::size_t bytes = 0;
  for (bool more = true; more; bytes += 3073 * batch.size()) {
    more = co_await reader->read_batch(batch);
  }
  co_return bytes;
}

leat::task<std::size_t> read_files(std::vector<std::string> paths, bool direct) {
  leat::file_prefetcher files(std::move(paths), {.direct = direct});
  leat::loaded_file file;
  std::size_t bytes = 0;
  while (co_await files.next(file)) bytes += file.contents().size();
  co_return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  return bench::report_reading(r, "leat", [&] {
    if (r.workload == "file/hot") return leat::block_on(read_pieces(r.file));
    if (r.workload == "file/cold") return leat::block_on(read_records(r.file, {}));
    if (r.workload == "file/cold-direct") {
      return leat::block_on(read_records(r.file, {.direct = true}));
    }
    if (r.workload.starts_with("files/")) {
      const bool direct = r.workload == "files/small-cold-direct";
      return leat::block_on(read_files(bench::files_at(r.file), direct));
    }
    bench::unknown(r);
  });
}
