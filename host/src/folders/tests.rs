//! Folders on a real file system.

use super::*;
use rustix::fs::{Mode, mkfifoat};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

struct Scene {
    folder: TempDir,
    outside: TempDir,
}

impl Scene {
    fn new() -> Self {
        let scene = Self {
            folder: tempfile::tempdir().unwrap(),
            outside: tempfile::tempdir().unwrap(),
        };
        fs::write(scene.outside.path().join("secret.txt"), "secret").unwrap();
        scene.put("a.md", "# A");
        scene.put("sub/b.bin", [0, 159]);
        scene.put("sub/deep/c d.txt", "c");
        scene.put(".hidden/x.txt", "x");
        scene
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn folder(&self, hidden: bool) -> Arc<Folder> {
        folder(self.folder.path(), hidden)
    }

    fn shelf(&self) -> Arc<Shelf> {
        Arc::new(self.folder(false).look().unwrap())
    }
}

fn folder(path: &Path, hidden: bool) -> Arc<Folder> {
    let folder = Folder::new(FolderOptions {
        path: path.to_owned(),
        uri: "t:///".to_owned(),
        title: None,
        description: None,
        max_file_bytes: 100,
        hidden,
        index: true,
    });
    Arc::new(folder.unwrap())
}

fn uris(shelf: &Shelf) -> Vec<&str> {
    shelf.files_after(None).map(|(uri, _)| &**uri).collect()
}

fn read(shelf: &Shelf, path: &str) -> Result<ReadAnswer, ReadError> {
    let path = FilePath::new(path.as_bytes().to_vec(), shelf.folder.hidden).unwrap();
    shelf.read_now(&path)
}

fn is_missing(shelf: &Shelf, path: &str) -> bool {
    matches!(read(shelf, path), Err(ReadError::Missing))
}

fn text_of(answer: &ReadAnswer) -> Option<&str> {
    match &answer.contents[0].body {
        Body::Text(text) => Some(text),
        Body::Blob(_) => None,
    }
}

#[test]
fn files_are_listed_in_order_and_read() {
    let scene = Scene::new();
    let shelf = scene.shelf();
    assert_eq!(
        uris(&shelf),
        ["t:///a.md", "t:///sub/b.bin", "t:///sub/deep/c%20d.txt"]
    );
    let after = shelf.files_after(Some("t:///b"));
    assert_eq!(after.count(), 2);
    let text = read(&shelf, "a.md").unwrap();
    assert_eq!(text_of(&text), Some("# A"));
    let blob = read(&shelf, "sub/b.bin").unwrap();
    assert!(matches!(&blob.contents[0].body, Body::Blob(Blob(bytes)) if *bytes == [0, 159]));
    // Text by its name, but not by what is in it.
    scene.put("broken.txt", [0xff, 0xfe]);
    let broken = read(&shelf, "broken.txt").unwrap();
    assert!(matches!(broken.contents[0].body, Body::Blob(_)));
    let all = scene.folder(true).look().unwrap();
    assert!(uris(&all).contains(&"t:///.hidden/x.txt"));
}

#[test]
fn names_of_any_bytes_are_listed_and_read() {
    let scene = Scene::new();
    let name = std::ffi::OsStr::from_bytes(b"\xff %?#\n\"{}.txt");
    fs::write(scene.folder.path().join(name), "odd").unwrap();
    fs::write(scene.at("back\\slash.txt"), "no").unwrap();
    let shelf = scene.shelf();
    let odd = "t:///%FF%20%25%3F%23%0A%22%7B%7D.txt";
    assert!(uris(&shelf).contains(&odd), "{:?}", uris(&shelf));
    assert!(!uris(&shelf).iter().any(|uri| uri.contains("slash")));
    let path = shelf.file(odd).unwrap();
    let answer = shelf.read_now(&path).unwrap();
    assert_eq!(text_of(&answer), Some("odd"));
    assert_eq!(answer.contents[0].uri, odd);
}

#[test]
fn links_and_what_is_no_file_are_not_there() {
    let scene = Scene::new();
    let secret = scene.outside.path().join("secret.txt");
    symlink(&secret, scene.at("link.txt")).unwrap();
    symlink("a.md", scene.at("inner.md")).unwrap();
    symlink(scene.outside.path(), scene.at("out")).unwrap();
    symlink("sub", scene.at("again")).unwrap();
    symlink("link-to-itself", scene.at("link-to-itself")).unwrap();
    mkfifoat(rustix::fs::CWD, scene.at("fifo"), Mode::RUSR | Mode::WUSR).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(scene.at("socket")).unwrap();
    let shelf = scene.shelf();
    assert_eq!(uris(&shelf).len(), 3, "{:?}", uris(&shelf));
    for path in [
        "link.txt",
        "inner.md",
        "out/secret.txt",
        "again/b.bin",
        "link-to-itself",
        "fifo",
        "socket",
        "sub",
        "a.md/b",
        "nothing",
    ] {
        assert!(is_missing(&shelf, path), "{path}");
    }
}

#[test]
fn what_is_too_large_is_neither_listed_nor_read() {
    let scene = Scene::new();
    scene.put("fits.txt", "x".repeat(100));
    scene.put("large.txt", "x".repeat(101));
    let shelf = scene.shelf();
    assert!(uris(&shelf).contains(&"t:///fits.txt") && !uris(&shelf).contains(&"t:///large.txt"));
    assert!(read(&shelf, "fits.txt").is_ok());
    assert!(matches!(
        read(&shelf, "large.txt"),
        Err(ReadError::TooLarge(100))
    ));
    // Sizes that the system makes up are not believed.
    let endless = folder(Path::new("/proc/self"), false);
    let root = open::root(endless.path()).unwrap();
    let shelf = Shelf {
        folder: endless,
        root: Some(root),
        files: Index::new(),
    };
    assert!(matches!(
        read(&shelf, "maps"),
        Err(ReadError::TooLarge(100))
    ));
}

// Whoever may write to the folder swaps a folder for a link that leads out, over and over.
#[test]
fn what_is_swapped_meanwhile_does_not_lead_out() {
    let scene = Scene::new();
    scene.put("swap/secret.txt", "inside");
    scene.put("aside/x", "");
    symlink(scene.outside.path(), scene.at("leads-out")).unwrap();
    let shelf = scene.shelf();
    let (swap, link) = (scene.at("swap"), scene.at("leads-out"));
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let swapping = Arc::clone(&stop);
    let swapper = thread::spawn(move || {
        while !swapping.load(std::sync::atomic::Ordering::Relaxed) {
            let flags = rustix::fs::RenameFlags::EXCHANGE;
            let at = rustix::fs::CWD;
            rustix::fs::renameat_with(at, &swap, at, &link, flags).unwrap();
        }
    });
    let mut inside = 0;
    for _ in 0..5_000 {
        match read(&shelf, "swap/secret.txt") {
            Ok(answer) => {
                assert_eq!(text_of(&answer), Some("inside"));
                inside += 1;
            }
            Err(ReadError::Missing) => {}
            Err(error) => panic!("{error}"),
        }
        let listed = shelf.folder.look().unwrap();
        assert!(
            !uris(&listed)
                .iter()
                .any(|uri| uri.contains("leads-out/") && {
                    let path = listed.file(uri).unwrap();
                    listed
                        .read_now(&path)
                        .is_ok_and(|it| text_of(&it) == Some("secret"))
                })
        );
        if inside > 200 {
            break;
        }
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    swapper.join().unwrap();
    assert!(inside > 0);
}

#[test]
fn a_folder_with_too_much_in_it_is_refused() {
    let scene = Scene::new();
    for n in 0..FOLDER_ENTRIES {
        fs::write(scene.at(&format!("{n}")), "").unwrap();
    }
    let refused = scene.folder(false).look();
    assert!(refused.is_err_and(|error| error.to_string().contains("FOLDER_ENTRIES")));
}

#[test]
fn changes_are_what_is_new_other_or_gone() {
    let scene = Scene::new();
    let before = scene.shelf();
    assert!(scene.shelf().changes_since(&before).is_empty());
    scene.put("new.txt", "new");
    scene.put("sub/b.bin", "other");
    fs::remove_file(scene.at("sub/deep/c d.txt")).unwrap();
    // The same size, and another file.
    scene.put("other", "# B");
    fs::rename(scene.at("other"), scene.at("a.md")).unwrap();
    let mut changes = scene.shelf().changes_since(&before);
    changes.sort();
    let changes: Vec<_> = changes.iter().map(|uri| &**uri).collect();
    assert_eq!(
        changes,
        [
            "t:///a.md",
            "t:///new.txt",
            "t:///sub/b.bin",
            "t:///sub/deep/c%20d.txt"
        ]
    );
}

#[test]
fn a_file_is_described() {
    let scene = Scene::new();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let file = fs::File::options()
        .write(true)
        .open(scene.at("a.md"))
        .unwrap();
    file.set_modified(time).unwrap();
    let shelf = scene.shelf();
    let (_, definition) = shelf.files_after(None).next().unwrap();
    let definition: serde_json::Value = serde_json::from_str(definition.get()).unwrap();
    let expected = json!({
        "uri": "t:///a.md",
        "name": "a.md",
        "mimeType": "text/markdown",
        "size": 3,
        "annotations": {"lastModified": "2001-09-09T01:46:40Z"},
    });
    assert_eq!(definition, expected);
}

#[test]
fn a_folder_that_is_gone_has_no_files() {
    let scene = Scene::new();
    let shelf = Shelf::gone(&scene.folder(false));
    assert!(shelf.is_empty() && is_missing(&shelf, "a.md"));
    fs::remove_dir_all(scene.folder.path()).unwrap();
    let gone = scene.folder(false).look();
    assert!(gone.is_err_and(|error| matches!(
        error,
        FolderError::Unreadable(error) if error.kind() == io::ErrorKind::NotFound
    )));
}
