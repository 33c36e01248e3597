//! The servers that are compared in the same rounds: floor-hops, and each broker on each
//! store.

use std::net::SocketAddr;
use std::path::Path;

use crate::error::BenchError;
use crate::report::{Compared, Figures};
use crate::servers::ServerProcess;
use crate::servers::broker::{POSTGRES, Store};
use crate::servers::database::Database;
use crate::setup::{Setup, Version};

/// A server under test.
pub(super) struct Subject {
    kind: Kind,
    pub(super) server: ServerProcess,
    pub(super) figures: Figures,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Floor,
    /// A broker, with the name of its store.
    Broker(Version, &'static str),
}

/// Starts floor-hops, and each broker on each store, whose files are in `folder`.
pub(super) fn start(
    setup: &Setup,
    providers: SocketAddr,
    folder: &Path,
    database: Option<&Database>,
) -> Result<Vec<Subject>, BenchError> {
    let subject = |kind, server| Subject {
        kind,
        server,
        figures: Figures::default(),
    };
    let mut subjects = vec![subject(Kind::Floor, setup.start_floor(providers)?)];
    for (version, program) in setup.versions() {
        let file = folder.join(format!("{version:?}.db"));
        let stores = [Store::Memory, Store::File(file)].into_iter();
        let postgres = database.map(|it| Store::Postgres(it.url()));
        for store in stores.chain(postgres) {
            let broker = setup.start_broker(program, &store, providers)?;
            subjects.push(subject(Kind::Broker(version, store.name()), broker));
        }
    }
    Ok(subjects)
}

impl Subject {
    /// The name of its store; empty for floor-hops.
    pub(super) fn store(&self) -> &'static str {
        match self.kind {
            Kind::Floor => "",
            Kind::Broker(_, store) => store,
        }
    }

    pub(super) fn is_on_postgres(&self) -> bool {
        self.store() == POSTGRES
    }
}

/// The brokers of this tree, by the names of their stores.
pub(super) fn compared(subjects: &[Subject]) -> impl Iterator<Item = (&'static str, Compared<'_>)> {
    let find = |kind| subjects.iter().find(move |it| it.kind == kind);
    subjects.iter().filter_map(move |subject| {
        let store = subject.store();
        let compared = Compared {
            what: store.to_owned(),
            broker: &subject.figures,
            beside: ("floor-hops", &find(Kind::Floor)?.figures),
            before: find(Kind::Broker(Version::Before, store)).map(|it| &it.figures),
        };
        let is_present = subject.kind == Kind::Broker(Version::Present, store);
        is_present.then_some((store, compared))
    })
}
