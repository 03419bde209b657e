// Tokio: its mutex, semaphore, Notify, broadcast and watch, on runtimes of one thread each.
//
// The futures run without its budget for cooperation, which the primitives of leat's other peers do
// not have.

use std::cell::{Cell, RefCell};
use std::env;
use std::future::Future;
use std::rc::Rc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::Arc;
use std::time::Instant;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{broadcast, watch, Mutex, Semaphore};
use tokio::task::{self, LocalSet};

const VALUES_PER_ROUND: i64 = 64;

fn runtime() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

fn block_on<F: Future>(future: F) -> F::Output {
    LocalSet::new().block_on(&runtime(), future)
}

// See bench::measured_count.
struct MeasuredCount {
    first: i64,
    last: i64,
    count: i64,
    begin: Option<Instant>,
    nanoseconds: f64,
}

impl MeasuredCount {
    fn new(items: i64, least: i64) -> MeasuredCount {
        let first = least.max(items / 10);
        MeasuredCount { first, last: first + least.max(items), count: 0, begin: None, nanoseconds: 0.0 }
    }

    fn add(&mut self) -> bool {
        self.count += 1;
        if self.count == self.first {
            self.begin = Some(Instant::now());
        }
        if self.count == self.last {
            let taken = self.begin.unwrap().elapsed().as_nanos() as f64;
            self.nanoseconds = taken / (self.last - self.first) as f64;
        }
        self.count < self.last
    }
}

static STARTED: AtomicI64 = AtomicI64::new(0);

async fn wait_for_start(tasks: i64) {
    while STARTED.load(Ordering::Relaxed) < tasks {
        task::yield_now().await;
    }
}

async fn take_turns(mutex: Arc<Mutex<MeasuredCount>>, held: bool) {
    STARTED.fetch_add(1, Ordering::Relaxed);
    loop {
        let mut turns = mutex.lock().await;
        if held {
            task::yield_now().await;
        }
        if !turns.add() {
            break;
        }
    }
}

fn contend(items: i64, tasks: i64, held: bool) -> f64 {
    let mutex = Arc::new(Mutex::new(MeasuredCount::new(items, tasks)));
    block_on(async {
        let first = mutex.lock().await;
        let all: Vec<_> =
            (0..tasks).map(|_| task::spawn_local(take_turns(mutex.clone(), held))).collect();
        wait_for_start(tasks).await;
        drop(first);
        for each in all {
            each.await.unwrap();
        }
    });
    let turns = mutex.try_lock().unwrap();
    turns.nanoseconds
}

fn contend_on_two_threads(items: i64) -> f64 {
    let mutex = Arc::new(Mutex::new(MeasuredCount::new(items, 1)));
    let first = mutex.clone().try_lock_owned().unwrap();
    let threads: Vec<_> = (0..2)
        .map(|cpu| {
            let mutex = mutex.clone();
            std::thread::spawn(move || {
                pin(cpu);
                runtime().block_on(take_turns(mutex, false))
            })
        })
        .collect();
    std::thread::sleep(std::time::Duration::from_millis(50)); // both wait
    drop(first);
    for thread in threads {
        thread.join().unwrap();
    }
    let turns = mutex.try_lock().unwrap();
    turns.nanoseconds
}

async fn lock_alone(count: i64) -> i64 {
    let mutex = Mutex::new(0);
    for _ in 0..count {
        *mutex.lock().await += 1;
    }
    mutex.into_inner()
}

async fn acquire_alone(count: i64) -> i64 {
    let semaphore = Semaphore::new(8);
    let mut sum = 0;
    for _ in 0..count {
        let _permit = semaphore.acquire().await.unwrap();
        sum += 1;
    }
    sum
}

async fn broadcast_values(receivers: i64, count: i64) -> i64 {
    let (sender, _) = broadcast::channel(VALUES_PER_ROUND as usize);
    let mut all: Vec<_> = (0..receivers).map(|_| sender.subscribe()).collect();
    let mut sum = 0;
    let mut done = 0;
    while done < count {
        for _ in 0..VALUES_PER_ROUND {
            sender.send(1i64).unwrap();
        }
        for receiver in &mut all {
            for _ in 0..VALUES_PER_ROUND {
                sum += receiver.recv().await.unwrap();
            }
        }
        done += receivers * VALUES_PER_ROUND;
    }
    sum
}

async fn broadcast_to_waiting(receivers: i64, count: i64) -> i64 {
    let (sender, _) = broadcast::channel(VALUES_PER_ROUND as usize);
    let sum = Rc::new(Cell::new(0));
    let all: Vec<_> = (0..receivers)
        .map(|_| {
            let (mut receiver, sum) = (sender.subscribe(), sum.clone());
            task::spawn_local(async move {
                while let Ok(value) = receiver.recv().await {
                    sum.set(sum.get() + value);
                }
            })
        })
        .collect();
    task::yield_now().await;
    let mut sent = 0;
    while sent < count {
        sender.send(1i64).unwrap();
        sent += receivers;
        while sum.get() < sent {
            task::yield_now().await;
        }
    }
    drop(sender);
    for each in all {
        each.await.unwrap();
    }
    sum.get()
}

async fn watch_changes(count: i64) -> i64 {
    let (sender, mut receiver) = watch::channel(0i64);
    let mut sum = 0;
    for _ in 0..count {
        sender.send(1).unwrap();
        receiver.changed().await.unwrap();
        sum += *receiver.borrow_and_update();
    }
    sum
}

async fn watch_while_waiting(tasks: i64, count: i64) -> i64 {
    let (sender, receiver) = watch::channel(0i64);
    let sum = Rc::new(Cell::new(0));
    let all: Vec<_> = (0..tasks)
        .map(|_| {
            let (mut receiver, sum) = (receiver.clone(), sum.clone());
            task::spawn_local(async move {
                while receiver.changed().await.is_ok() {
                    sum.set(sum.get() + *receiver.borrow_and_update());
                }
            })
        })
        .collect();
    task::yield_now().await;
    let mut done = 0;
    while done < count {
        sender.send(1).unwrap();
        done += tasks;
        while sum.get() < done {
            task::yield_now().await;
        }
    }
    drop(sender);
    for each in all {
        each.await.unwrap();
    }
    sum.get()
}

// Waits of `tasks` tasks for one Notify after another.
fn wake(items: i64, tasks: i64) -> f64 {
    let wakes = Rc::new(RefCell::new(MeasuredCount::new(items, tasks)));
    let rounds = (wakes.borrow().last + tasks - 1) / tasks;
    block_on(async {
        let notify = Rc::new(tokio::sync::Notify::new());
        let all: Vec<_> = (0..tasks)
            .map(|_| {
                let (notify, wakes) = (notify.clone(), wakes.clone());
                task::spawn_local(async move {
                    STARTED.fetch_add(1, Ordering::Relaxed);
                    for _ in 0..rounds {
                        notify.notified().await;
                        wakes.borrow_mut().add();
                    }
                })
            })
            .collect();
        wait_for_start(tasks).await;
        for round in 1..=rounds {
            notify.notify_waiters();
            while wakes.borrow().count < round * tasks {
                task::yield_now().await;
            }
        }
        for each in all {
            each.await.unwrap();
        }
    });
    let nanoseconds = wakes.borrow().nanoseconds;
    nanoseconds
}

#[repr(C)]
struct CpuSet([u64; 16]);

extern "C" {
    fn sched_setaffinity(pid: i32, size: usize, set: *const CpuSet) -> i32;
    fn sched_getaffinity(pid: i32, size: usize, set: *mut CpuSet) -> i32;
}

// See bench::pin().
fn pin(cpu: usize) {
    let mut all = CpuSet([0; 16]);
    let size = std::mem::size_of::<CpuSet>();
    unsafe { sched_getaffinity(0, size, &mut all) };
    let allowed: Vec<usize> = (0..1024).filter(|i| all.0[i / 64] >> (i % 64) & 1 == 1).collect();
    if allowed.len() < 2 {
        return;
    }
    let mut one = CpuSet([0; 16]);
    one.0[allowed[cpu] / 64] = 1 << (allowed[cpu] % 64);
    unsafe { sched_setaffinity(0, size, &one) };
}

static SUM: AtomicI64 = AtomicI64::new(0);

fn run(workload: &str, tasks: i64, count: i64) {
    let sum = block_on(async {
        task::unconstrained(async {
            match workload {
                "sync/mutex" | "sync/mutex/2-threads" => lock_alone(count).await,
                "sync/semaphore" => acquire_alone(count).await,
                "sync/watch" => watch_changes(count).await,
                _ if workload.starts_with("sync/watch-") => watch_while_waiting(tasks, count).await,
                _ if workload.ends_with("/waiting") => broadcast_to_waiting(tasks, count).await,
                _ if workload.starts_with("sync/broadcast-") => broadcast_values(tasks, count).await,
                _ => panic!("unknown workload '{}'", workload),
            }
        })
        .await
    });
    SUM.store(sum, Ordering::Relaxed);
}

fn main() {
    let arguments: Vec<String> = env::args().collect();
    let argument = |name: &str| {
        let at = arguments.iter().position(|a| a == name).unwrap();
        arguments[at + 1].clone()
    };
    let workload = argument("--workload");
    let items: i64 = argument("--items").parse().unwrap();
    let after_dash = workload.rsplit('-').next().unwrap();
    let digits: String = after_dash.chars().take_while(char::is_ascii_digit).collect();
    let tasks: i64 = digits.parse().unwrap_or(1);
    let report = |nanoseconds: f64, unit: &str| {
        println!(
            "{{\"workload\": \"{}\", \"subject\": \"Tokio\", \"value\": {:.4}, \"unit\": \"{}\"}}",
            workload, nanoseconds, unit
        );
    };
    if workload == "sync/hand-over/2-threads" {
        return report(contend_on_two_threads(items), "ns/lock");
    }
    pin(0);
    if workload.starts_with("sync/hand-over-") || workload.starts_with("sync/held-") {
        return report(contend(items, tasks, workload.starts_with("sync/held-")), "ns/lock");
    }
    if workload.starts_with("sync/event/wake-") {
        return report(wake(items, tasks), "ns/wake");
    }
    let broadcasts = workload.starts_with("sync/broadcast-");
    let waits = workload.ends_with("/waiting");
    let round = if waits { tasks } else if broadcasts { tasks * VALUES_PER_ROUND } else { 1 };
    let items = (10 * round).max(items / round * round);
    run(&workload, tasks, items / 10);
    let begin = Instant::now();
    run(&workload, tasks, items);
    let nanoseconds = begin.elapsed().as_nanos() as f64 / items as f64;
    let changes = workload.starts_with("sync/watch");
    report(nanoseconds, if broadcasts { "ns/value" } else if changes { "ns/change" } else { "ns/lock" });
}
