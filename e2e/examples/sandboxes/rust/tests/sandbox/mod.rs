//! A sandbox for each test, made by the stack at `STACK_CONTROL` or at its usual address.

use serde_json::{Value, json};

/// A broker and providers, with a clock, users and faults that no other test meets.
pub struct Sandbox {
    /// The answer that made it: `broker`, `control`, `projects` and more.
    pub made: Value,
    pub stack: String,
}

impl Sandbox {
    pub fn new(name: &str) -> Self {
        let stack = std::env::var("STACK_CONTROL").unwrap_or("http://127.0.0.1:8010".into());
        let project =
            json!({ "name": "My app", "redirect_uris": ["http://localhost:3000/callback"] });
        let settings = json!({ "name": name, "projects": [project] });
        let made = control("POST", &format!("{stack}/api/sandboxes"), &settings).unwrap();
        Self { made, stack }
    }

    /// Makes a call of its control address, with `null` for no body.
    pub fn call(&self, method: &str, path: &str, body: Value) -> Value {
        let control_url = self.made["control"].as_str().unwrap();
        control(method, &format!("{control_url}{path}"), &body).unwrap()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let path = format!("/api/sandboxes/{}", self.made["id"].as_str().unwrap());
        let _ = control("DELETE", &format!("{}{path}", self.stack), &Value::Null);
    }
}

fn control(method: &str, url: &str, body: &Value) -> reqwest::Result<Value> {
    let request = reqwest::blocking::Client::new().request(method.parse().unwrap(), url);
    let answer = request.json(body).send()?.error_for_status()?.bytes()?;
    Ok(serde_json::from_slice(&answer).unwrap_or_default())
}
