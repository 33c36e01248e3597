//! A sandbox for each test, made by the stack at `STACK_CONTROL` or at its usual address.
//! With `KEEP_SANDBOX=1` it stays: its inspector is at `made["control"]`.
use serde_json::{Value, json};

const CALLBACK: &str = "http://localhost:5173/auth/callback"; // yours

/// A broker and providers, with a clock, users and faults that no other test meets.
pub struct Sandbox {
    pub made: Value, // `broker`, `control`, `projects` and more
}
impl Sandbox {
    pub fn new(name: &str) -> Self {
        let project = json!({ "name": "My app", "redirect_uris": [CALLBACK] });
        let settings = json!({ "name": name, "projects": [project] });
        let made = control("POST", &sandboxes(), &settings).unwrap();
        Self { made }
    }
    /// Makes a call of its control address, with `null` for no body.
    pub fn call(&self, method: &str, path: &str, body: Value) -> Value {
        let control_url = self.made["control"].as_str().unwrap();
        control(method, &format!("{control_url}{path}"), &body).unwrap()
    }
}
impl Drop for Sandbox {
    fn drop(&mut self) {
        let url = format!("{}/{}", sandboxes(), self.made["id"].as_str().unwrap());
        if std::env::var("KEEP_SANDBOX").is_err() {
            let _ = control("DELETE", &url, &Value::Null);
        }
    }
}
fn sandboxes() -> String {
    let stack = std::env::var("STACK_CONTROL").unwrap_or("http://127.0.0.1:8010".into());
    format!("{stack}/api/sandboxes")
}
fn control(method: &str, url: &str, body: &Value) -> reqwest::Result<Value> {
    let request = reqwest::blocking::Client::new().request(method.parse().unwrap(), url);
    let answer = request.json(body).send()?.error_for_status()?.bytes()?;
    Ok(serde_json::from_slice(&answer).unwrap_or_default())
}
