/// A gRPC server whose calls are leat tasks: `server [DRAIN [PORT]]` serves counter.proto.
///
/// gRPC's threads start one task for each call, on the scheduler of the main task. A call stops if
/// its client cancels it or leaves, or if its deadline passes. After SIGTERM or SIGINT, the server
/// refuses new calls, and open ones may finish for DRAIN ms. Then they are stopped, and their
/// clients receive UNAVAILABLE. A second signal terminates the process. The exit status is 0 if all
/// calls have finished, and 1 after an error or if the drain ran out of time.

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>
#include <leat/leat.hpp>

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
leat::task<> add(const Numbers& request, Number& reply) {
  if (request.values().empty()) throw leat::failure(leat::errc::invalid_argument, "no numbers");
  call_log log{"Add"};
  co_await leat::sleep_for(milliseconds(request.delay_ms()));  // stands for work
  for (const auto value : request.values()) reply.set_value(reply.value() + value);
  log.finished = true;
}

leat::task<> count(const Range& range, rpc::writer<Number>& out) {
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
    const auto handler = [=](rpc::writer<Number>& out) { return count(*request, out); };
    return rpc::handle_stream<Number>(calls_, context, "Count", handler);
  }

 private:
  rpc::tasks calls_;
};
//! [/handlers]

//! [drain]
// Refuses new calls, and returns after the last call has ended. Closes the connections of clients
// that do not react to the end of the drain.
leat::task<> shut_down(grpc::Server& server, milliseconds drain) {
  const auto limit = std::chrono::system_clock::now() + drain + std::chrono::seconds(3);
  co_await leat::run_blocking([&] { server.Shutdown(limit); });
}

leat::task<> wait_for_signal(int port) {
  const auto body = [port](leat::task_group& serving) -> leat::task<> {
    const leat::stop_on_signal guard(serving);  // before the port is printed
    std::cout << "port " << port << std::endl;
    co_await leat::sleep_for(leat::duration::max());
  };
  co_await leat::with_task_group(body, "serving");  // returns normally after a signal
}

leat::task<int> serve(milliseconds drain, std::string port) {
  leat::coordinator calls("calls");
  auto drained = calls.join({.stop_after = drain, .stragglers = leat::straggler_policy::wait});
  counter_service service({calls, leat::this_task::get_scheduler()});
  int bound_port = 0;  // 0 after an error
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:" + port, grpc::InsecureServerCredentials(), &bound_port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server || bound_port == 0)
    throw leat::failure(leat::errc::unavailable, "listen on port " + port);

  co_await calls.stop_on_exception(wait_for_signal(bound_port));
  calls.spawn(shut_down(*server, drain), "shutdown");
  co_await std::move(drained);
  co_return calls.should_stop() ? 1 : 0;  // 1: the drain has stopped calls
}
//! [/drain]

}  // namespace

int main(int argc, char** argv) {
  const milliseconds drain(argc > 1 ? std::atoi(argv[1]) : 10'000);
  return leat::run([&] { return serve(drain, argc > 2 ? argv[2] : "0"); }, {.signals = {}});
}
