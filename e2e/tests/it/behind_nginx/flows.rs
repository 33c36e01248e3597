//! Both flows, as operators serve them.

use super::front::Front;
use crate::login::{FLOWS, PROVIDERS};

#[tokio::test]
async fn a_person_signs_in_through_nginx_by_either_flow() {
    let front = Front::start().await;
    for provider in PROVIDERS {
        for flow in FLOWS {
            front.sign_in(flow, provider).await.is_ada(provider);
        }
    }
}
