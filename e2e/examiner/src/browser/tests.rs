//! The way of a browser over redirects.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

/// A server that answers every request with a redirect to `location`.
async fn redirecting(location: &'static str) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/login", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4096]).await;
            let answer = format!(
                "HTTP/1.1 303 See Other\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    Url::parse(&url).unwrap()
}

#[tokio::test]
async fn a_browser_stops_before_a_host_that_is_no_party_and_not_on_this_machine() {
    let client = Client::builder().redirect(reqwest::redirect::Policy::none());
    let client = client.no_proxy().build().unwrap();
    let mut browser = Browser::new("browser", client, Tape::start(), Parties::default());
    let app = redirecting("https://accounts.google.invalid/auth").await;
    let page = browser.open(&app).await.unwrap();
    assert_eq!((page.status, &page.url), (303, &app));
    assert_eq!(browser.asked, [app]);
    let elsewhere = Url::parse("https://accounts.google.invalid/").unwrap();
    let stop = browser.open(&elsewhere).await.unwrap_err();
    assert!(
        stop.actual.contains("not on this machine"),
        "{}",
        stop.actual
    );
}
