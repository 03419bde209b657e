/// Counts the lines of standard input, or of the output of a command, without opening a file.

#include <cstdio>
#include <unistd.h>

#include <leat/leat.hpp>

namespace {

//! [read]
leat::task<std::size_t> count_lines(int descriptor) {
  auto reader = co_await leat::line_reader::open(leat::descriptor_path(descriptor));
  leat::line_batch batch;
  std::size_t lines = 0;
  while (co_await reader->read_batch(batch)) lines += batch.size();
  co_return lines;
}
//! [/read]

leat::task<> print_count(int descriptor) {
  const std::size_t lines = co_await count_lines(descriptor);
  std::printf("%zu lines\n", lines);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) return leat::run(print_count(STDIN_FILENO));
  std::FILE* const command = ::popen(argv[1], "r");
  if (!command) {
    std::perror(argv[1]);
    return 1;
  }
  const int status = leat::run(print_count(::fileno(command)));
  return ::pclose(command) == 0 ? status : 1;
}
