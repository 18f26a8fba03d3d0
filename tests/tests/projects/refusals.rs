//! What `cofferdam new` does not do.

use std::fs;
use std::process::{Command, Output};

use cofferdam_tests::binary;

fn new(folder: &std::path::Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command.arg("new").args(arguments).current_dir(folder);
    command.output().expect("the program can be run")
}

#[test]
fn a_folder_that_is_there_is_left_alone() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("mine");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("file"), "mine").expect("written");
    let output = new(place.path(), &["mine"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("is there already"), "{said}");
    assert_eq!(fs::read_dir(&folder).expect("readable").count(), 1);
    assert_eq!(fs::read_dir(place.path()).expect("readable").count(), 1);
}

#[test]
fn a_bad_name_or_language_is_told_and_nothing_made() {
    let place = tempfile::tempdir().expect("a folder");
    for (arguments, why) in [
        (["../out", "--lang=c"], "a-z"),
        (["Upper", "--lang=c"], "a-z"),
        (["fn", "--lang=rust"], "another name"),
        (["good", "--lang=cobol"], "python"),
    ] {
        let output = new(place.path(), &arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(why), "{said}");
    }
    assert_eq!(fs::read_dir(place.path()).expect("readable").count(), 0);
}
