// A program of a user of the installed library: it needs each compiled layer once.

#include <array>
#include <cstddef>
#include <cstdio>

#include <leat/leat.hpp>

namespace {

leat::task<int> sum_of_queue() {
  leat::fifo_queue<int> queue(4);
  for (const int value : {1, 2, 3}) co_await queue.push(value);
  queue.close();
  int sum = 0;
  while (const auto item = co_await queue.pop()) sum += *item;
  co_return sum;
}

}  // namespace

int main() {
  const int sum = leat::sync_wait(sum_of_queue());
  const std::array<std::byte, 4> bytes{};
  const bool has_crc = leat::crc32c(bytes) == 0x48674BC7;  // of four zero bytes
  std::printf("sum %d, checksum %s\n", sum, has_crc ? "right" : "wrong");
  return sum == 6 && has_crc ? 0 : 1;
}
