//! A user in Chromium: from the app's page through the broker's question and the provider's
//! page back to the app.

use serde_json::{Value, json};
use url::Url;

use crate::app::Step;
use crate::chromium::{ARRIVAL_TIMEOUT, Tab, failed};
use crate::time::{Stopwatch, pause};
use crate::trial::Trial;
use crate::user::Person;
use crate::verdict::{Outcome, Stop};

/// A person with a Chromium, which has a fresh profile.
pub(crate) struct ChromiumUser<'t> {
    pub(crate) trial: &'t Trial<'t>,
    pub(crate) tab: Tab,
    pub(crate) person: Person,
}

/// The page at which a press of the sign-in control ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Led {
    /// The provider's page.
    ToProvider,
    /// The broker's confirmation page.
    ToQuestion,
    /// No page of the broker or the provider.
    Nowhere,
}

/// Finds the control of a step: arguments are its method, its path, its field's name and
/// value, and the fields of its form. Of several, the one with the same fields is taken.
const FIND_CONTROL: &str = r#"
const [method, path, name, value, fields] = arguments;
const isToken = value => value.length >= 8 && /^(?!\/)[\w\-.=+\/~:]*$/.test(value)
  && (/[0-9]/.test(value) || value.length >= 22 && /[a-z]/.test(value) && /[A-Z]/.test(value));
const target = url => { const it = new URL(url, document.baseURI);
  return it.pathname + '?' + [...it.searchParams].map(([name, value]) => name + '=' + (isToken(value) ? '' : value)).join('&'); };
const leadsThere = url => target(url) === target(path);
const hasFields = form => fields.every(([name, value]) => isToken(value)
  || [...form.querySelectorAll('input, select, textarea')].some(it => it.name === name && it.value === value));
if (method === 'GET') for (const link of document.querySelectorAll('a[href]'))
  if (leadsThere(link.href)) return link;
const forms = [...document.forms];
for (const form of [...forms.filter(hasFields), ...forms]) {
  if (form.method.toUpperCase() !== method) continue;
  const buttons = [...form.querySelectorAll('button:not([type=button]):not([type=reset]), input[type=submit], input[type=image]')];
  for (const button of buttons) {
    const action = button.getAttribute('formaction') || form.getAttribute('action') || location.href;
    if (leadsThere(action) && (name === null || (button.name === name && (button.value === value || isToken(value))))) return button;
  }
  if (!buttons.length && leadsThere(form.getAttribute('action') || location.href)) {
    const button = form.appendChild(document.createElement('button'));
    button.textContent = 'Send';
    return button;
  }
}
return null;"#;

/// Makes the request of a script, and goes where its answer leads: to the broker's address
/// in it, or by its redirect.
const MAKE_REQUEST: &str = r#"
const [method, path, body, broker, done] = arguments;
const kind = body.startsWith('{') ? 'application/json' : 'application/x-www-form-urlencoded';
const request = method === 'GET' ? {} : { body, headers: { 'Content-Type': kind } };
fetch(path, { method, redirect: 'manual', ...request }).then(async answer => {
  if (answer.type === 'opaqueredirect') {
    const form = document.body.appendChild(document.createElement('form'));
    form.method = method; form.action = path;
    for (const [name, value] of new URLSearchParams(body)) {
      const field = form.appendChild(document.createElement('input'));
      field.type = 'hidden'; field.name = name; field.value = value;
    }
    done(true); form.submit();
  } else {
    const text = JSON.stringify(await answer.json());
    const found = text.match(new RegExp('"(' + broker.replaceAll('.', '\\.') + '/[^"]*)"'));
    done(Boolean(found));
    if (found) location.assign(JSON.parse(found[0]));
  }
}).catch(() => done(false));"#;

impl Trial<'_> {
    /// A person whose name begins with `first`, in a real browser. NOT TESTED if there is none
    /// here.
    pub(crate) async fn chromium(&self, name: &str, first: &str) -> Outcome<ChromiumUser<'_>> {
        let tab = self.testbed.chromium.open().await?;
        let name = self.transcript.name_of_browser(name);
        Ok(ChromiumUser {
            trial: self,
            tab: tab.recorded_as(&name, &self.transcript, self.testbed.parties()),
            person: Person::new(first),
        })
    }
}

impl ChromiumUser<'_> {
    /// Opens the start page and takes the steps of the app's way to sign in.
    pub(crate) async fn begin(&mut self) -> Outcome<Led> {
        self.tab.open(&self.trial.testbed.start).await?;
        let steps = self.trial.way()?.steps.split_last();
        let (last, first) = steps.ok_or_else(|| Stop::harness("a way to sign in has no steps"))?;
        for step in first {
            let before = self.tab.address().await?;
            self.take(step).await?;
            self.tab.arrives(|url| *url != before).await?;
        }
        self.take(last).await?;
        self.where_led().await
    }

    /// The page of the broker or the provider that a press has led to.
    pub(crate) async fn where_led(&mut self) -> Outcome<Led> {
        let testbed = self.trial.testbed;
        let is_end = |url: &Url| testbed.provider_at(url).is_some() || testbed.is_broker(url);
        let limit = std::time::Duration::from_secs(4);
        if !self.tab.arrives_within(limit, is_end).await? {
            return Ok(Led::Nowhere);
        }
        if testbed.provider_at(&self.tab.address().await?).is_some() {
            return Ok(Led::ToProvider);
        }
        let script = "return Boolean(document.querySelector('main[data-question=relay]'))";
        let is_question = self.tab.run(script, Vec::new()).await? == Value::Bool(true);
        Ok(if is_question {
            Led::ToQuestion
        } else {
            Led::Nowhere
        })
    }

    /// Presses the control of a step, or makes its request.
    async fn take(&mut self, step: &Step) -> Outcome {
        match step {
            Step::Css(css) => {
                let script = "const it = document.querySelector(arguments[0]); return it && it.tagName === 'FORM' ? it.querySelector('button:not([type=button]), input[type=submit]') || it : it;";
                self.press_found(script, vec![json!(css)], step).await
            }
            Step::Target {
                method,
                path,
                fields,
                field,
            } => {
                let (name, value) = field.clone().unzip();
                let (method, path, fields) = (json!(method), json!(path), json!(fields));
                let control = vec![method, path, json!(name), json!(value), fields];
                self.press_found(FIND_CONTROL, control, step).await
            }
            Step::Request { method, path, body } => {
                let broker = &self.trial.testbed.addresses.broker;
                let request = vec![json!(method), json!(path), json!(body), json!(broker)];
                let made = self.tab.run_async(MAKE_REQUEST, request).await?;
                if made != Value::Bool(true) {
                    return Err(Stop::not_testable(format!(
                        "the answer to {} in Chromium does not lead to the broker",
                        step.describe()
                    )));
                }
                Ok(())
            }
        }
    }

    async fn press_found(&mut self, script: &str, arguments: Vec<Value>, step: &Step) -> Outcome {
        let found = self.tab.session()?.execute(script, arguments).await;
        let found = found.map_err(failed)?;
        if found.json().is_null() {
            return Err(Stop::not_testable(format!(
                "in Chromium the page {} has no {}",
                self.tab.address().await?.path(),
                step.describe()
            )));
        }
        let element = found.element().map_err(failed)?;
        self.tab.click(&element).await
    }

    /// Presses Continue on the broker's confirmation page, once that can be pressed.
    pub(crate) async fn go_on(&mut self) -> Outcome {
        let awake = "return Boolean(document.querySelector(\"form[action$='/continue'] button.scripted:not([disabled]):not([aria-disabled])\"))";
        let watch = Stopwatch::start();
        while self.tab.run(awake, Vec::new()).await? != Value::Bool(true) {
            if watch.elapsed() > ARRIVAL_TIMEOUT {
                return Err(Stop::harness("the broker's Continue cannot be pressed"));
            }
            pause(std::time::Duration::from_millis(50)).await;
        }
        let button = "form[action$='/continue'] button.scripted";
        self.tab.press(button).await?;
        let testbed = self.trial.testbed;
        let arrived = self.tab.arrives(|url| testbed.provider_at(url).is_some());
        arrived.await.map(drop)
    }

    /// Signs in on the provider's page, and waits for the app's page after it.
    pub(crate) async fn leave_provider(&mut self) -> Outcome<Url> {
        // The form is in a closed part of the page.
        let open = "document.querySelector('#other')?.closest('details')?.setAttribute('open', '')";
        self.tab.run(open, Vec::new()).await?;
        for (name, value) in self.person.form_fields() {
            let script = "const field = document.querySelector('#other').form.elements[arguments[0]]; \
                if (!field || field.tagName !== 'INPUT') return; \
                if (field.type === 'checkbox') field.checked = true; else field.value = arguments[1];";
            let field = vec![json!(name), json!(value)];
            self.tab.run(script, field).await?;
        }
        self.tab.press("#other").await?;
        let testbed = self.trial.testbed;
        if self.tab.arrives(|url| testbed.is_app(url)).await? {
            return self.tab.address().await;
        }
        Err(Stop::not_testable(format!(
            "in Chromium the browser ended at {} and did not come back to the app",
            self.tab.address().await?.path()
        )))
    }

    /// From the start page to the provider's page, through the broker's question if need be.
    /// A Content-Security-Policy of the app's that blocks that is ignored: `relay` finds it,
    /// and the other checks are about something else.
    pub(crate) async fn reach_provider(&mut self) -> Outcome {
        let chromium = &self.trial.testbed.chromium;
        if chromium.has_blocking_policy() {
            self.tab.ignore_policies().await?;
        }
        let mut led = self.begin().await?;
        if led == Led::Nowhere && !chromium.has_blocking_policy() {
            self.tab.ignore_policies().await?;
            led = self.begin().await?;
            if led != Led::Nowhere {
                chromium.found_blocking_policy();
            }
        }
        match led {
            Led::ToProvider => Ok(()),
            Led::ToQuestion => self.go_on().await,
            Led::Nowhere => Err(self.is_nowhere().await?),
        }
    }

    /// The end of a check whose sign-in reaches neither the broker nor the provider.
    pub(crate) async fn is_nowhere(&self) -> Outcome<Stop> {
        let address = self.tab.address().await?;
        Ok(Stop::not_testable(format!(
            "in Chromium the sign-in button leads to {} and not to the broker",
            address.path()
        )))
    }

    /// A whole sign-in, and the address at its end; it is not checked who is signed in.
    pub(crate) async fn try_sign_in(&mut self) -> Outcome<Url> {
        self.reach_provider().await?;
        self.choose().await
    }

    /// Signs in on the provider's page, and comes back to the app with its cookies.
    pub(crate) async fn choose(&mut self) -> Outcome<Url> {
        let landing = self.leave_provider().await?;
        if !self.trial.app.has_strict_cookie {
            return Ok(landing);
        }
        let callback = self.trial.callback()?;
        let is_callback =
            |url: &Url| self.trial.testbed.is_app(url) && url.path() == callback.path();
        let mut asked = self.tab.exchanges().iter().rev().map(|it| it.url.clone());
        let asked = asked.find(is_callback);
        self.tab.open(&asked.unwrap_or(callback)).await?;
        self.tab.address().await
    }

    /// A good sign-in: without one the check says nothing about the app.
    pub(crate) async fn sign_in(&mut self) -> Outcome {
        self.try_sign_in().await?;
        self.require_signed_in().await
    }

    /// NOT TESTABLE unless the app shows this person to the browser.
    pub(crate) async fn require_signed_in(&mut self) -> Outcome {
        if self.is_signed_in().await? {
            return Ok(());
        }
        Err(Stop::not_testable(format!(
            "a plain sign-in did not work in Chromium: afterwards {} does not show the person who signed in",
            self.trial.app.whoami
        )))
    }

    /// Whether the app shows this person to the browser.
    pub(crate) async fn is_signed_in(&mut self) -> Outcome<bool> {
        let page = self.whoami().await?;
        Ok(self.person.is_shown_in(&page))
    }

    /// The page that shows who is signed in, as the browser has it now.
    pub(crate) async fn whoami(&mut self) -> Outcome<String> {
        let whoami = self.trial.testbed.at(&self.trial.app.whoami)?;
        self.tab.open(&whoami).await?;
        self.tab.source().await
    }
}
