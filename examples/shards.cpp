/// Writes the lines of a text file to a set of compressed TFRecord files. The files appear under
/// their names when all of them are complete, and each name contains the number of files.

#include <cstdio>
#include <string>

#include <leat/leat.hpp>

namespace {

//! [shards]
leat::task<> write_shards(std::string text, std::string prefix) {
  leat::sharded_tfrecord_writer_options options;
  options.max_records = 20;
  options.suffix = ".tfrecord.gz";
  options.file.compression = leat::compression::gzip;
  auto writer = co_await leat::sharded_tfrecord_writer::open(prefix, options);

  auto reader = co_await leat::line_reader::open(text);
  leat::line_batch batch;
  for (bool more = true; more;) {
    more = co_await reader->read_batch(batch);
    for (const std::string_view line : batch) co_await writer.write(leat::as_bytes(line));
  }
  co_await writer.close();  // PREFIX-00000-of-00003.tfrecord.gz, ...
  for (const std::string& path : writer.paths()) std::printf("%s\n", path.c_str());
}
//! [/shards]

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: shards TEXT PREFIX\n", stderr);
    return 2;
  }
  return leat::run(write_shards(argv[1], argv[2]));
}
