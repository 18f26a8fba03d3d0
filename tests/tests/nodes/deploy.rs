//! What operators are given.

use cofferdam_tests::{Config, check_config, guest, root};

#[test]
fn the_example_of_a_nodes_configuration_is_good() {
    let text = std::fs::read_to_string(root().join("deploy/cofferdam.toml"));
    let config = Config::new(&text.expect("the example"));
    std::fs::create_dir(config.folder().join("tools")).expect("a folder");
    std::fs::copy(guest("report"), config.folder().join("tools/report.wasm")).expect("a tool");
    let file = config.file();
    let file = file.to_str().expect("UTF-8");
    let checked = check_config(&["--config", file]);
    assert!(checked.status.success(), "{checked:?}");
}
