//! The real thing: two servers of one application, on both loopback addresses.

use std::net::SocketAddr;
use std::sync::Arc;

use consumer_demo::{App, Clock};
use rocket::fairing::AdHoc;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::world::{Broker, RESULT, ada, config, succeeded};

/// Starts a server and returns where it listens.
async fn serve(app: &Arc<App>, bind: &str) -> SocketAddr {
    let (tell, told) = oneshot::channel();
    let tell = std::sync::Mutex::new(Some(tell));
    let server = app.rocket(bind.parse().unwrap()).unwrap();
    let server = server.attach(AdHoc::on_liftoff("Address", move |rocket| {
        let address = SocketAddr::new(rocket.config().address, rocket.config().port);
        let tell = tell.lock().unwrap().take().expect("it lifts off once");
        tell.send(address).expect("the test waits for it");
        Box::pin(async {})
    }));
    tokio::spawn(server.launch());
    told.await.expect("it lifts off")
}

fn client() -> reqwest::Client {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    client.build().unwrap()
}

fn cookie(response: &reqwest::Response) -> Option<String> {
    let text = response.headers().get("set-cookie")?.to_str().unwrap();
    Some(text.split(';').next().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn c6_one_session_whichever_server_is_asked_and_however_many_ask() {
    let broker = Broker::start().await;
    let app = App::new(config(&broker.url()), Clock::system()).unwrap();
    let four = serve(&app, "127.0.0.1:0").await;
    let six = serve(&app, "[::1]:0").await;
    assert!(four.ip().is_loopback() && six.ip().is_loopback());

    let start = client().post(format!("http://{four}/login/google"));
    let started = start.send().await.unwrap();
    assert_eq!(started.status(), 303);
    let before = cookie(&started).expect("a session");

    let key = broker.calls(crate::world::SESSION)[0]["session_key"].clone();
    let slow = succeeded(&ada()).set_delay(std::time::Duration::from_millis(20));
    broker.will_for(key.as_str().unwrap(), slow);
    let mut visits = JoinSet::new();
    for number in 0..32 {
        let address = if number % 2 == 0 { four } else { six };
        let visit = client()
            .get(format!("http://{address}/callback"))
            .header("Cookie", &before);
        visits.spawn(async move { cookie(&visit.send().await.unwrap()) });
    }
    let cookies: Vec<_> = visits.join_all().await.into_iter().flatten().collect();
    assert_eq!(cookies.len(), 1);
    assert_eq!(broker.calls(RESULT).len(), 1);

    let profile = client()
        .get(format!("http://{six}/profile"))
        .header("Cookie", &cookies[0]);
    assert_eq!(profile.send().await.unwrap().status(), 200);
}
