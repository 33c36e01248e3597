//! Two instances of the app behind a balancer, as most apps run in production.

use super::Steps;
use super::simultaneous::{concurrent_callback, most_of_one_login};
use crate::trial::Trial;
use crate::user::User;
use crate::verdict::{Outcome, Stop, Verdict, require};

/// `replicas`: logins, repeated callbacks and sign-outs over two instances.
pub(super) async fn replicas(trial: &Trial<'_>) -> Outcome {
    on_two_instances(trial, |moved| Box::pin(over_both(moved))).await
}

/// `rolling-restart`: each instance is replaced while logins and a session are under way.
pub(super) async fn rolling_restart(trial: &Trial<'_>) -> Outcome {
    on_two_instances(trial, |moved| Box::pin(replaced_in_turn(moved))).await
}

/// Takes the steps on two instances, each of which signs users in as long as it gets every
/// request, and ends these. If their way to share sessions is not given, a failure says nothing
/// about the app in production.
async fn on_two_instances(trial: &Trial<'_>, steps: Steps) -> Outcome {
    let untested = |why: String| {
        Stop::not_tested(format!(
            "two instances, each with a PORT of its own behind a balancer, were not tried, so the grade is A at best: {why}"
        ))
    };
    let testbed = trial.testbed.replicas(trial.app).await.map_err(untested)?;
    let trial = trial.moved_to(&testbed);
    for instance in [0, 1] {
        give_to(&trial, &[instance])?;
        let alone = trial.user("browser", "Nora").sign_in().await;
        alone.map_err(|stop| untested(stop.actual))?;
    }
    let outcome = steps(&trial).await;
    if outcome.is_err() {
        // Why the app answered so is often in the broker's answer.
        trial.calls(0).await.ok();
    }
    let (_, instances) = testbed.balanced()?;
    testbed.stop().await;
    outcome.and_then(|()| trial.end()).map_err(|stop| match stop.verdict {
        verdict if verdict.is_red() && instances.plan.share.is_none() => Stop::not_tested(format!(
            "tell with `share` in examine.toml how two instances share their sessions: without it it is unknown whether they do in production, and the grade is A at best. As started here they do not: {}",
            stop.actual
        )),
        Verdict::NotTestable => Stop::fail(format!("on two instances {}", stop.actual)),
        _ => stop,
    })
}

/// Gives the next requests to these instances in turn.
fn give_to(trial: &Trial<'_>, instances: &[usize]) -> Outcome {
    trial.testbed.balanced()?.0.give_to(instances);
    let numbers: Vec<_> = instances.iter().map(|it| (it + 1).to_string()).collect();
    let note = format!("the next requests go to instance {}", numbers.join(", "));
    trial.transcript.add("examiner", "app", note);
    Ok(())
}

async fn over_both(trial: &Trial<'_>) -> Outcome {
    // Wherever the press comes that starts a login, its callback comes to the one and the other.
    for [begun, ended] in [[0, 0], [0, 1], [1, 0], [1, 1]] {
        let mut ada = trial.user("browser A", "Ada");
        give_to(trial, &[begun, 1 - begun])?;
        let callback = ada.up_to_callback().await?;
        give_to(trial, &[ended, 1 - ended])?;
        ada.visit(callback).await?;
        signed_in_at_both(&mut ada, "a user signs in over two instances in turn").await?;
    }
    takes_two(trial, used_once(trial, &[0, 1]).await).await?;
    sign_out_holds(trial, [0, 1]).await?;
    sign_out_holds(trial, [1, 0]).await
}

/// Demands that each instance knows the user; `what` begins the sentence of a failure.
async fn signed_in_at_both(user: &mut User<'_>, what: &str) -> Outcome {
    for instance in [0, 1] {
        give_to(user.trial, &[instance])?;
        require(user.is_signed_in().await?, || {
            format!("{what}, and is not signed in at instance {}", instance + 1)
        })?;
    }
    Ok(())
}

/// Demands one read or exchange for each login, for callbacks at once and one after the other.
async fn used_once(trial: &Trial<'_>, instances: &[usize]) -> Outcome {
    give_to(trial, instances)?;
    concurrent_callback(trial).await?;
    let mark = trial.mark().await?;
    let (mut ada, callback) = trial.user_at_callback("browser A", "Ada").await?;
    for instance in instances.iter().chain(instances) {
        give_to(trial, &[*instance])?;
        ada.visit(callback.clone()).await?;
    }
    called_once(trial, mark, "after a callback at each instance").await
}

/// The outcome, unless one instance alone fails as well: that is `concurrent-callback`,
/// `callback-replay` or `result-after-browser`.
async fn takes_two(trial: &Trial<'_>, used: Outcome) -> Outcome {
    let Err(stop) = used else { return Ok(()) };
    used_once(trial, &[0]).await.map_or(Ok(()), |()| Err(stop))
}

async fn called_once(trial: &Trial<'_>, mark: u64, when: &str) -> Outcome {
    let operation = trial.flow.one_time_call();
    let made = most_of_one_login(&trial.calls(mark).await?, operation);
    require(made == 1, || {
        format!("{when} the app has called {operation} {made} times for one login")
    })
}

/// After a sign-out a copy of the cookie is worth as much at the one instance as at the other.
/// That it is worth nothing is `sign-out-server`.
async fn sign_out_holds(trial: &Trial<'_>, turns: [usize; 2]) -> Outcome {
    let mut ada = trial.signed_in("browser A", "Ada").await?;
    // Of its own for each instance: an answer may replace the cookie.
    let mut copies = [ada.clone(), ada.clone()];
    give_to(trial, &turns)?;
    ada.sign_out().await?;
    let mut open = Vec::new();
    for (instance, copy) in copies.iter_mut().enumerate() {
        copy.browser.transport.name = "a copy of the old cookie".to_owned();
        give_to(trial, &[instance])?;
        open.push(copy.is_signed_in().await?);
    }
    require(
        open[0] == open[1],
        || "after sign-out a copy of the old cookie is worth nothing at one instance, and opens the session at the other",
    )
}

/// While an instance is replaced, a session goes on, and two logins that were under way end, one
/// while the other instance is alone, one at the new instance.
async fn replaced_in_turn(trial: &Trial<'_>) -> Outcome {
    let (_, instances) = trial.testbed.balanced()?;
    for instance in [0, 1] {
        let mark = trial.mark().await?;
        let names = ["browser A", "browser B", "browser C"];
        let [mut ada, mut eve, mut otto] = names.map(|name| trial.user(name, "Ada"));
        give_to(trial, &[0, 1])?;
        ada.sign_in().await?;
        // One press of the two comes to the instance that ends.
        give_to(trial, &[0, 1])?;
        let first = eve.up_to_callback().await?;
        give_to(trial, &[1, 0])?;
        let second = otto.up_to_callback().await?;
        give_to(trial, &[1 - instance])?;
        instances.end_gently(instance).await;
        eve.visit(first).await?;
        let restarted = instances.restart(instance).await;
        restarted.map_err(|stop| Stop::not_tested(stop.actual))?;
        give_to(trial, &[instance, 1 - instance])?;
        otto.visit(second).await?;
        for (user, what) in [
            (&mut ada, "was signed in before an instance was replaced"),
            (&mut eve, "came back while an instance was replaced"),
            (&mut otto, "came back after an instance was replaced"),
        ] {
            signed_in_at_both(user, &format!("a user {what}")).await?;
        }
        let when = "after an instance was replaced";
        takes_two(trial, called_once(trial, mark, when).await).await?;
    }
    Ok(())
}
