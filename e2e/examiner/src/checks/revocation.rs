//! The end of the access token at sign-out.

use crate::calls::Call;
use crate::calls::operation::{PROFILE, REVOKE};
use crate::person::Person;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

/// `token-revoked`: a token that is kept ends at sign-out, and sign-out needs no broker.
pub(super) async fn token_revoked(trial: &Trial<'_>) -> Outcome {
    trial.sign_out_step()?;
    let mut browser = trial.browser("browser A");
    let person = Person::new("Ada");
    let mark = trial.mark().await?;
    trial.sign_in(&mut browser, &person).await?;
    let at_sign_in = trial.calls(mark).await?;
    let shown = trial.mark().await?;
    trial.whoami(&mut browser).await?;
    let keeps_token = uses_token(&trial.calls(shown).await?);
    let mark = trial.mark().await?;
    trial.sign_out(&mut browser).await?;
    let at_sign_out = trial.calls(mark).await?;

    let revoked = at_sign_in.iter().chain(&at_sign_out);
    let revoked: Vec<_> = revoked.filter(|call| call.operation == REVOKE).collect();
    let Some(last) = revoked.last() else {
        require(!keeps_token, || {
            "the app still uses the access token after sign-in, and sign-out does not end it"
                .to_owned()
        })?;
        return Err(Stop::not_applicable(
            "the app neither uses the access token after sign-in nor ends it: nothing shows that it keeps it",
        ));
    };
    require(last.status.is_some_and(|it| it < 400), || {
        format!(
            "the broker refused the end of the token: {}",
            last.describe()
        )
    })?;
    if at_sign_out.iter().any(|call| call.operation == REVOKE) {
        without_broker(trial).await?;
    }
    Ok(())
}

fn uses_token(calls: &[Call]) -> bool {
    calls.iter().any(|call| call.operation == PROFILE)
}

/// Sign-out succeeds also where the end of the token does not.
async fn without_broker(trial: &Trial<'_>) -> Outcome {
    let mut browser = trial.browser("browser A");
    let person = Person::new("Ada");
    trial.sign_in(&mut browser, &person).await?;
    trial.arm(REVOKE, "lose_response").await?;
    trial.sign_out(&mut browser).await?;
    let stays = trial.is_signed_in(&mut browser, &person).await?;
    require(!stays, || {
        "the broker's answer to the end of the token was lost, and the user stays signed in"
            .to_owned()
    })
}
