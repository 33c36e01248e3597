//! The time from `exec` to the first answered request, of the whole stack and of a bare
//! Rocket server. Both are measured alternately in one run, because only their ratio can
//! be compared between machines.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The number of starts of each.
const ROUNDS: usize = 10;

/// The argument that makes the benchmark itself the bare server.
const BARE: &str = "bare-rocket-server";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().position(|argument| argument == BARE) {
        Some(at) => serve_bare(arguments[at + 1].parse().expect("a port")),
        None => compare(),
    }
}

fn serve_bare(port: u16) {
    #[rocket::get("/")]
    fn index() -> &'static str {
        "ok"
    }
    let config = rocket::Config {
        port,
        log_level: rocket::config::LogLevel::Off,
        ..rocket::Config::release_default()
    };
    let server = rocket::custom(config)
        .mount("/", rocket::routes![index])
        .launch();
    let _ = rocket::execute(server);
}

fn compare() {
    let (mut stack, mut bare): (Vec<_>, Vec<_>) =
        (0..ROUNDS).map(|_| (start_stack(), start_bare())).unzip();
    let (stack, bare) = (median(&mut stack), median(&mut bare));
    let mut out = std::io::stdout();
    let _ = writeln!(
        out,
        "from exec to the first answered request, median of {ROUNDS}:\n  \
         the whole stack      {:>6.1} ms (the demo's home page, which calls the broker)\n  \
         a bare Rocket server {:>6.1} ms\n  ratio                {:>6.1}",
        ms(stack),
        ms(bare),
        ms(stack) / ms(bare),
    );
}

fn start_stack() -> Duration {
    let [consumer, broker, control, google, github] = [(); 5].map(|()| free_port());
    let mut command = Command::new(env!("CARGO_BIN_EXE_stack"));
    command.args(["--quiet", "--consumer", &format!("localhost:{consumer}")]);
    for (flag, port) in [
        ("--broker", broker),
        ("--control", control),
        ("--google", google),
        ("--github", github),
    ] {
        command.args([flag, &format!("127.0.0.1:{port}")]);
    }
    time_to_answer(&mut command, consumer)
}

fn start_bare() -> Duration {
    let port = free_port();
    let itself = std::env::current_exe().expect("this program has a path");
    time_to_answer(Command::new(itself).args([BARE, &port.to_string()]), port)
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
fn time_to_answer(command: &mut Command, port: u16) -> Duration {
    let started = Instant::now();
    let mut server = command
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    while !answers(port) {
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "the server never answered"
        );
    }
    let took = started.elapsed();
    stop(&mut server);
    took
}

fn answers(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let Ok(mut stream) = TcpStream::connect(address) else {
        std::thread::yield_now();
        return false;
    };
    let request = format!("GET / HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n");
    let mut answer = String::new();
    stream.write_all(request.as_bytes()).is_ok()
        && stream.read_to_string(&mut answer).is_ok()
        && answer.starts_with("HTTP/1.1 200")
}

fn stop(server: &mut Child) {
    let _ = server.kill();
    let _ = server.wait();
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there is a free port");
    listener.local_addr().expect("it is bound").port()
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
