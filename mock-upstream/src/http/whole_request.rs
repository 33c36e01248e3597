//! A request that is read whole, within limits, before wiremock gets any of it.
//!
//! wiremock has no limits. It panics when a client hangs up within a body, and on a target
//! that is no URL. So it receives whole requests alone, each with a `Content-Length` of our
//! own; what is left to check in a head is a matter of its HTTP library.

use std::io;
use std::net::Shutdown;
use std::os::fd::AsFd;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use url::Url;

/// The longest head, and the longest lines around the chunks of a body.
const MAX_HEAD_BYTES: u64 = 128 * 1024;

/// The longest body. The providers' real requests take a few hundred bytes.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// The maximum number of parameters in a query or a body.
const MAX_PARAMETERS: usize = 256;

/// The bytes that are read of a refused request: a connection that closes on unread ones
/// may take the answer with it.
const MAX_UNREAD_BYTES: u64 = 16 * 1024 * 1024;

/// The reason why a request does not reach wiremock.
enum Rejection {
    /// The client hung up, which is its right at any time.
    HangUp(io::Error),
    /// The status of the answer.
    Status(&'static str),
}

const MALFORMED: Rejection = Rejection::Status("400 Bad Request");
const BODY_TOO_LARGE: Rejection = Rejection::Status("413 Content Too Large");
const TARGET_TOO_LONG: Rejection = Rejection::Status("414 URI Too Long");
const HEAD_TOO_LARGE: Rejection = Rejection::Status("431 Request Header Fields Too Large");
const OTHER_VERSION: Rejection = Rejection::Status("505 HTTP Version Not Supported");

/// Passes whole requests on, until the client hangs up or one is refused.
pub(super) async fn copy_requests(from: OwnedReadHalf, mut to: OwnedWriteHalf) -> io::Result<()> {
    let mut from = BufReader::new(from);
    loop {
        match whole_request(&mut from).await {
            Ok(request) => to.write_all(&request).await?,
            Err(Rejection::HangUp(error)) => return Err(error),
            Err(Rejection::Status(status)) => return refuse(from, status).await,
        }
    }
}

/// Answers with `status`, and waits until the client has seen that the connection is over.
async fn refuse(client: BufReader<OwnedReadHalf>, status: &str) -> io::Result<()> {
    let answer = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
    let stream = client.get_ref().as_ref();
    send(stream, answer.as_bytes()).await?;
    // tokio shuts a stream down by its other half alone.
    let same_stream = std::net::TcpStream::from(stream.as_fd().try_clone_to_owned()?);
    same_stream.shutdown(Shutdown::Write)?;
    let mut unread = client.take(MAX_UNREAD_BYTES);
    tokio::io::copy(&mut unread, &mut tokio::io::sink()).await?;
    Ok(())
}

/// Sends a few bytes beside the half that writes responses. It writes none meanwhile: no
/// client sends its next request before it has the last response.
async fn send(client: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    client.writable().await?;
    client.try_write(bytes).map(drop)
}

/// Reads the next request.
async fn whole_request(client: &mut BufReader<OwnedReadHalf>) -> Result<Vec<u8>, Rejection> {
    let Head {
        mut lines,
        body,
        expects_continue,
    } = Head::read(client).await?;
    if expects_continue && body.is_some() {
        let interim = b"HTTP/1.1 100 Continue\r\n\r\n";
        send(client.get_ref().as_ref(), interim).await?;
    }
    let body = match body {
        None => None,
        Some(Length::Known(length)) => Some(exactly(client, length).await?),
        Some(Length::Chunked) => Some(chunks(client).await?),
    };
    if let Some(body) = &body {
        if has_too_many_parameters(body) {
            return Err(BODY_TOO_LARGE);
        }
        lines.extend(format!("content-length: {}\r\n", body.len()).into_bytes());
    }
    lines.extend(b"\r\n");
    lines.extend(body.unwrap_or_default());
    Ok(lines)
}

fn has_too_many_parameters(encoded: &[u8]) -> bool {
    encoded.iter().filter(|byte| **byte == b'&').count() >= MAX_PARAMETERS
}

/// The request line and the headers.
struct Head {
    /// The lines to pass on: those about the body and its transfer are left out.
    lines: Vec<u8>,
    body: Option<Length>,
    expects_continue: bool,
}

/// The length of a body.
enum Length {
    Known(usize),
    Chunked,
}

impl Head {
    async fn read(client: &mut (impl AsyncBufRead + Unpin)) -> Result<Self, Rejection> {
        let mut left = MAX_HEAD_BYTES;
        let mut request_line = line(client, &mut left).await?;
        // RFC 9112, section 2.2: an empty line before the request is ignored.
        while request_line.is_empty() {
            request_line = line(client, &mut left).await?;
        }
        check_request_line(&request_line)?;
        let mut head = Self {
            lines: [&request_line, &b"\r\n"[..]].concat(),
            body: None,
            expects_continue: false,
        };
        loop {
            let header = line(client, &mut left).await?;
            if header.is_empty() {
                return Ok(head);
            }
            head.add(&header)?;
        }
    }

    fn add(&mut self, header: &[u8]) -> Result<(), Rejection> {
        let mut parts = header.splitn(2, |byte| *byte == b':');
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let value = parts.next().unwrap_or_default().trim_ascii();
        match name.as_slice() {
            b"content-length" => self.set_body(Length::Known(length(value, 10)?)),
            b"transfer-encoding" => self.set_body(Length::transferred(value)?),
            b"expect" => {
                self.expects_continue = true;
                Ok(())
            }
            _ => {
                self.lines.extend(header);
                self.lines.extend(b"\r\n");
                Ok(())
            }
        }
    }

    /// Two lengths, or two kinds of them, could be read in two ways.
    fn set_body(&mut self, length: Length) -> Result<(), Rejection> {
        match self.body.replace(length) {
            None => Ok(()),
            Some(_) => Err(MALFORMED),
        }
    }
}

impl Length {
    fn transferred(coding: &[u8]) -> Result<Self, Rejection> {
        match coding.eq_ignore_ascii_case(b"chunked") {
            true => Ok(Self::Chunked),
            false => Err(MALFORMED),
        }
    }
}

/// The number that these digits are, unless a body of that length is too large.
fn length(digits: &[u8], radix: u32) -> Result<usize, Rejection> {
    let are_digits = digits.iter().all(|byte| char::from(*byte).is_digit(radix));
    let digits = str::from_utf8(digits).map_err(|_| MALFORMED)?;
    if digits.is_empty() || !are_digits {
        return Err(MALFORMED);
    }
    match usize::from_str_radix(digits, radix) {
        Ok(length) if length <= MAX_BODY_BYTES => Ok(length),
        _ => Err(BODY_TOO_LARGE),
    }
}

/// Checks the version and the target. wiremock prefixes a target of its own server with a
/// host, and parses the result.
fn check_request_line(line: &[u8]) -> Result<(), Rejection> {
    let mut words = line.split(|byte| *byte == b' ');
    let [Some(_), Some(target), Some(version), None] = [(); 4].map(|()| words.next()) else {
        return Err(MALFORMED);
    };
    if !matches!(version, b"HTTP/1.1" | b"HTTP/1.0") {
        return Err(OTHER_VERSION);
    }
    let text = str::from_utf8(target).map_err(|_| MALFORMED)?;
    if !text.starts_with('/') && !Url::parse(text).is_ok_and(|url| url.has_host()) {
        return Err(MALFORMED);
    }
    match has_too_many_parameters(target) {
        true => Err(TARGET_TOO_LONG),
        false => Ok(()),
    }
}

/// Reads a line without its end, of at most `left` bytes.
async fn line(
    client: &mut (impl AsyncBufRead + Unpin),
    left: &mut u64,
) -> Result<Vec<u8>, Rejection> {
    let mut line = Vec::new();
    client.take(*left).read_until(b'\n', &mut line).await?;
    *left -= u64::try_from(line.len()).expect("it is at most `left`");
    if line.pop_if(|byte| *byte == b'\n').is_none() {
        return Err(match *left {
            0 => HEAD_TOO_LARGE,
            _ => Rejection::HangUp(io::ErrorKind::UnexpectedEof.into()),
        });
    }
    line.pop_if(|byte| *byte == b'\r');
    Ok(line)
}

async fn exactly(
    client: &mut (impl AsyncBufRead + Unpin),
    length: usize,
) -> Result<Vec<u8>, Rejection> {
    let mut bytes = vec![0; length];
    client.read_exact(&mut bytes).await?;
    Ok(bytes)
}

/// Reads the chunks of a body and the trailers, which are dropped.
async fn chunks(client: &mut (impl AsyncBufRead + Unpin)) -> Result<Vec<u8>, Rejection> {
    let mut left = MAX_HEAD_BYTES;
    let mut body = Vec::new();
    loop {
        let size = line(client, &mut left).await?;
        let digits = size.split(|byte| *byte == b';').next().unwrap_or_default();
        let size = length(digits.trim_ascii(), 16)?;
        if size == 0 {
            while !line(client, &mut left).await?.is_empty() {}
            return Ok(body);
        }
        body.extend(exactly(client, size).await?);
        if body.len() > MAX_BODY_BYTES {
            return Err(BODY_TOO_LARGE);
        }
        if !line(client, &mut left).await?.is_empty() {
            return Err(MALFORMED);
        }
    }
}

impl From<io::Error> for Rejection {
    fn from(error: io::Error) -> Self {
        Self::HangUp(error)
    }
}
