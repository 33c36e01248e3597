//! The way of a browser over redirects.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

/// A server that answers a path with the status line and headers that `answer` returns.
pub(crate) async fn answering(answer: impl Fn(&str) -> String + Send + 'static) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let length = stream.read(&mut request).await.unwrap_or_default();
            let request = String::from_utf8_lossy(&request[..length]).into_owned();
            let path = request.split(' ').nth(1).unwrap_or_default();
            let answer = format!(
                "HTTP/1.1 {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                answer(path)
            );
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    Url::parse(&url).unwrap()
}

/// A browser of no examination.
pub(crate) fn plain_browser() -> Browser {
    let client = Client::builder().redirect(reqwest::redirect::Policy::none());
    let client = client.no_proxy().build().unwrap();
    Browser::new("browser", client, Transcript::start(), Parties::default())
}

/// A page of an app.
pub(crate) fn page(status: u16, header: (&'static str, &str), body: &str) -> Page {
    let (name, value) = header;
    Page {
        url: Url::parse("http://localhost:5000/").unwrap(),
        status,
        headers: [(name.parse().unwrap(), value.parse().unwrap())]
            .into_iter()
            .collect(),
        body: body.to_owned(),
    }
}

/// A page of HTML.
pub(crate) fn html(body: &str) -> Page {
    page(200, ("content-type", "text/html"), body)
}

#[tokio::test]
async fn a_browser_stops_before_a_host_that_is_no_party_and_not_on_this_machine() {
    let mut browser = plain_browser();
    let redirect =
        |_: &str| "303 See Other\r\nLocation: https://accounts.google.invalid/auth".to_owned();
    let app = answering(redirect).await;
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
