// Threads that send, lock, panic and are joined; unwinding is caught in and across them.
use std::collections::HashMap;
use std::panic;
use std::sync::{mpsc, Arc, Condvar, Mutex, RwLock};
use std::thread;

fn send() -> u64 {
    let (to, from) = mpsc::channel();
    for k in 0..8u64 {
        let to = to.clone();
        thread::spawn(move || (0..5000).for_each(|i| to.send(i * k).unwrap()));
    }
    drop(to);
    from.iter().sum()
}

fn take_turns() -> usize {
    let turn = Arc::new((Mutex::new(0usize), Condvar::new()));
    let threads: Vec<_> = (0..4)
        .map(|me| {
            let turn = turn.clone();
            thread::spawn(move || {
                for round in 0..500 {
                    let mut now = turn.0.lock().unwrap();
                    while *now != round * 4 + me {
                        now = turn.1.wait(now).unwrap();
                    }
                    *now += 1;
                    turn.1.notify_all();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    let now = *turn.0.lock().unwrap();
    now
}

fn panics() -> (usize, usize) {
    let joined = (0..50)
        .map(|i| thread::spawn(move || if i % 3 == 0 { panic!("{}", i) }))
        .filter_map(|t| t.join().err())
        .count();
    let caught = (0..300)
        .filter(|i| panic::catch_unwind(|| assert!(i % 2 == 0)).is_err())
        .count();
    (joined, caught)
}

fn shared() -> f64 {
    let table = Arc::new(RwLock::new(HashMap::new()));
    let threads: Vec<_> = (0..6)
        .map(|k| {
            let table = table.clone();
            thread::spawn(move || {
                for i in 0..2000 {
                    *table.write().unwrap().entry((i * k) % 31).or_insert(0.0) += 0.5;
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    let sum = table.read().unwrap().values().sum();
    sum
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    println!("{} {} {:?} {}", send(), take_turns(), panics(), shared());
}
