/// A gRPC server whose calls are leat tasks: `server [DRAIN [PORT [CALLS [LIMIT]]]]` serves
/// counter.proto to clients of the same machine.
///
/// gRPC's threads start one task for each call, on the scheduler of the main task. A call stops if
/// its client cancels it or leaves, if its deadline passes, or after LIMIT ms. If CALLS calls are
/// open, further ones fail with RESOURCE_EXHAUSTED.
///
/// After SIGTERM or SIGINT, the server refuses new calls, and open ones may finish for DRAIN ms.
/// Then they are stopped, and their clients receive UNAVAILABLE, or CANCELLED if the call was
/// writing. A second signal terminates the process. The exit status is 0 if all calls have
/// finished, and 1 after an error or if the drain ran out of time.

#include <chrono>
#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>
#include <leat/leat.hpp>

#include "arguments.hpp"
#include "counter.grpc.pb.h"
#include "service.hpp"

namespace {

using example::Number, example::Numbers, example::Range;
using std::chrono::milliseconds;

// Prints the progress of a call that the client or the drain has stopped.
struct call_log {
  const char* call;
  std::int64_t done = 0;
  bool finished = false;
  ~call_log() {
    if (!finished) std::cerr << call << ": stopped after " << done << " numbers" << std::endl;
  }
};

//! [handlers]
// A request may contain anything.
void require(bool valid, const char* message) {
  if (!valid) throw rpc::error(leat::errc::invalid_argument, message);
}

leat::task<> add(const Numbers& request, Number& reply) {
  require(!request.values().empty(), "no numbers");
  require(request.delay_ms() <= 60'000, "delay_ms is above 60000");
  std::int64_t sum = 0;
  for (const auto value : request.values())
    require(!__builtin_add_overflow(sum, value, &sum), "the sum is out of range");
  call_log log{"Add"};
  co_await leat::sleep_for(milliseconds(request.delay_ms()));  // stands for work
  reply.set_value(sum);
  log.finished = true;
}

leat::task<> count(const Range& range, rpc::writer<Number>& out) {
  constexpr auto max = std::numeric_limits<std::int64_t>::max();
  require(range.count() >= 0 && range.first() <= max - range.count(), "the range is invalid");
  require(range.delay_ms() <= 60'000, "delay_ms is above 60000");
  require(range.padding() <= 64 * 1024, "padding is above 65536");
  call_log log{"Count"};
  for (; log.done < range.count(); ++log.done) {
    Number number;
    number.set_value(range.first() + log.done);
    number.set_padding(std::string(range.padding(), 'x'));
    co_await out.write(std::move(number));
    if (range.delay_ms()) co_await leat::sleep_for(milliseconds(range.delay_ms()));
  }
  log.finished = true;
}

class counter_service final : public example::Counter::CallbackService {
 public:
  explicit counter_service(rpc::tasks calls) : calls_(calls) {}

  grpc::ServerUnaryReactor* Add(grpc::CallbackServerContext* context, const Numbers* request,
                                Number* reply) override {
    return rpc::handle(calls_, context, "Add", [=] { return add(*request, *reply); });
  }
  grpc::ServerWriteReactor<Number>* Count(grpc::CallbackServerContext* context,
                                          const Range* request) override {
    const auto body = [=](rpc::writer<Number>& out) { return count(*request, out); };
    return rpc::handle_stream<Number>(calls_, context, "Count", body);
  }

 private:
  rpc::tasks calls_;
};
//! [/handlers]

//! [drain]
leat::task<> wait_for_signal(int port) {
  const auto body = [port](leat::task_group& serving) -> leat::task<> {
    const leat::stop_on_signal guard(serving);  // before the port is printed
    std::cout << "port " << port << std::endl;
    co_await leat::sleep_for(leat::duration::max());
  };
  co_await leat::with_task_group(body, "serving");  // returns normally after a signal
}

struct options {
  milliseconds drain{10'000};
  std::string port = "0";           // 0: a free one
  std::size_t calls = 1000;         // open at the same time
  milliseconds limit{10 * 60'000};  // the longest time of a call
};

leat::task<int> serve(options o) {
  leat::semaphore permits(o.calls, "calls");
  leat::coordinator calls("calls");
  auto drained = calls.join({.stop_after = o.drain, .stragglers = leat::straggler_policy::wait});
  counter_service service({calls, leat::this_task::get_scheduler(), permits, o.limit});
  int bound_port = 0;  // 0 after an error
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:" + o.port, grpc::InsecureServerCredentials(), &bound_port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server || bound_port == 0)
    throw leat::failure(leat::errc::unavailable, "listen on port " + o.port);

  co_await calls.stop_on_exception(wait_for_signal(bound_port));
  // Shutdown() refuses new calls, and blocks until the last one has ended. So it has a thread of
  // its own, which starts even if the calls are being stopped.
  const auto last = std::chrono::system_clock::now() + o.drain + std::chrono::seconds(3);
  calls.stop_on_exception([&] { calls.start_thread("shutdown", [&] { server->Shutdown(last); }); });
  co_await std::move(drained);
  co_return calls.should_stop() ? 1 : 0;  // 1: the drain has stopped calls
}
//! [/drain]

}  // namespace

int main(int argc, char** argv) {
  const auto start = [&] {
    constexpr std::int64_t day = 24 * 60 * 60'000;
    options o;
    if (argc > 1) o.drain = milliseconds(number_in(argv[1], day));
    if (argc > 2) o.port = std::to_string(number_in(argv[2], 65'535));
    if (argc > 3) o.calls = static_cast<std::size_t>(number_in(argv[3], 1'000'000));
    if (argc > 4) o.limit = milliseconds(number_in(argv[4], day));
    return serve(std::move(o));
  };
  return leat::run(start, {.signals = {}});
}
