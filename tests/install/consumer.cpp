// A program that uses the installed library and needs each compiled layer once.

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <system_error>

#include <asio/error.hpp>
#include <leat/leat.hpp>

#if !defined(LEAT_VERSION) || LEAT_VERSION < 100
#error "leat/leat.hpp defines LEAT_VERSION"
#endif

namespace {

leat::task<int> sum_of_queue() {
  leat::fifo_queue<int> queue(4);
  for (const int value : {1, 2, 3}) co_await queue.push(value);
  queue.close();
  int sum = 0;
  while (const auto item = co_await queue.pop()) sum += *item;
  co_return sum;
}

leat::task<int> sum_under_a_coordinator() {
  leat::coordinator coordinator;
  int sum = 0;
  coordinator.spawn([](int& result) -> leat::task<> { result = co_await sum_of_queue(); }(sum));
  co_await coordinator.join();
  co_return sum;
}

// The program catches failures of the library by each of their types.
bool catches_failures() {
  int caught = 0;
  try {
    leat::runtime none({.threads = 0});
  } catch (const leat::failure& error) {
    if (error.code() == leat::errc::invalid_argument) ++caught;
  }
  try {
    leat::runtime none({.threads = 0});
  } catch (const std::system_error& error) {
    if (error.code() == leat::make_error_code(leat::errc::invalid_argument)) ++caught;
  }
  return caught == 2;
}

// The address of a category is its identity: library and program must share those of Asio.
bool shares_categories() {
  const std::error_code aborted = asio::error::operation_aborted;
  return aborted == leat::errc::cancelled &&
         std::strcmp(leat::error_category().name(), "leat") == 0;
}

bool has_checksums() {
#if defined(WITH_RUNTIME_ONLY) || !__has_include(<leat/codec.hpp>)
  return true;
#else
  const std::array<std::byte, 4> bytes{};
  return leat::crc32c(bytes) == 0x48674BC7;  // the checksum of four zero bytes
#endif
}

}  // namespace

int main() {
  const int sum = leat::block_on(sum_under_a_coordinator());
  const bool catches = catches_failures();
  const bool shares = shares_categories();
  const bool has_crc = has_checksums();
  std::printf("leat %s: sum %d, failures %d, categories %d, checksum %d\n", LEAT_VERSION_STRING,
              sum, catches, shares, has_crc);
  return sum == 6 && catches && shares && has_crc ? 0 : 1;
}
