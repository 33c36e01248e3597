//! A log that cannot be written because the disk is full.

use std::fs::OpenOptions;
use std::net::{TcpListener, TcpStream};
use std::process::Child;

use crate::command::BrokerCommand;
use crate::command::deadline;
use crate::installation::Installation;

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_broker_whose_log_cannot_be_written_serves() {
    let installation = Installation::new();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let mut broker =
        BrokerCommand::with("serve", &installation.config).env("BROKER_BIND", &address.to_string());
    let mut served = Killed(broker.0.stderr(full).spawn().unwrap());
    let _in_time = deadline(served.0.id());
    while TcpStream::connect(address).is_err() {
        assert!(served.0.try_wait().unwrap().is_none(), "it has ended");
        std::thread::yield_now();
    }
    for _ in 0..3 {
        let answer = reqwest::get(format!("http://{address}/v1/nothing")).await;
        assert_eq!(answer.unwrap().status(), 404);
    }
}
