use super::*;

fn names(files: &BTreeSet<PathBuf>) -> Vec<&str> {
    files.iter().filter_map(|it| it.to_str()).collect()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn write(folder: &tempfile::TempDir, file: &str) {
    let path = folder.path().join(file);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    std::fs::write(path, "text").expect("a file");
}

/// The next change, which comes within seconds.
async fn next(changes: &mut Changes) -> BTreeSet<PathBuf> {
    let next = within(Duration::from_secs(20), changes.next()).await;
    next.expect("in time").expect("a change")
}

#[test]
fn what_tools_make_is_no_change_and_what_people_edit_is() {
    let folder = folder();
    write(&folder, "env39/pyvenv.cfg");
    let tree = Tree::new(folder.path(), &["out/report.html".into()]);
    for (file, is_edited) in [
        ("app.py", true),
        (".env", true),
        ("src/main.rs", true),
        ("templates/page.html", true),
        ("my_target/a.js", true),
        (".git/index", false),
        ("target/debug/app", false),
        ("web/node_modules/a/index.js", false),
        ("__pycache__/app.pyc", false),
        ("env39/lib/flask.py", false),
        (".venv/lib/flask.py", false),
        ("app.py~", false),
        (".app.py.swp", false),
        ("out/report.html", false),
    ] {
        let relevant = tree.relevant(&folder.path().join(file));
        assert_eq!(relevant.is_some(), is_edited, "{file}");
    }
    assert_eq!(tree.relevant(Path::new("/elsewhere/app.py")), None);
}

#[test]
fn a_file_that_changes_in_every_round_is_the_app_s_own() {
    let files = |names: &[&str]| -> BTreeSet<PathBuf> { names.iter().map(Into::into).collect() };
    assert_eq!(
        names(&fresh(&files(&["app.db", "app.py"]), &files(&["app.db"]))),
        ["app.py"]
    );
    assert_eq!(names(&fresh(&files(&["app.db"]), &files(&[]))), ["app.db"]);
}

#[test]
fn reading_a_file_and_touching_its_rights_change_nothing() {
    use notify::event::{AccessKind, CreateKind, DataChange, MetadataKind, RemoveKind, RenameMode};
    for (kind, is_change) in [
        (EventKind::Create(CreateKind::File), true),
        (EventKind::Modify(ModifyKind::Data(DataChange::Any)), true),
        (EventKind::Modify(ModifyKind::Name(RenameMode::To)), true),
        (EventKind::Remove(RemoveKind::File), true),
        (EventKind::Access(AccessKind::Read), false),
        (
            EventKind::Modify(ModifyKind::Metadata(MetadataKind::Permissions)),
            false,
        ),
    ] {
        assert_eq!(changes_content(&kind), is_change, "{kind:?}");
    }
}

#[tokio::test]
async fn a_saved_file_begins_a_round_and_so_does_one_in_a_new_folder() {
    let folder = folder();
    write(&folder, "app.py");
    let mut changes = Changes::below(folder.path(), &[]).expect("a watched folder");
    write(&folder, "app.py");
    assert_eq!(names(&next(&mut changes).await), ["app.py"]);

    write(&folder, "node_modules/a/index.js");
    write(&folder, "views/deep/page.html");
    let changed = next(&mut changes).await;
    assert_eq!(names(&changed), ["views/deep/page.html"]);
}
