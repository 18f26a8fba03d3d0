//! Components that are broken, or made to cost their compiler all it has: each is refused by name,
//! and the server serves its other tool.

use cofferdam_tests::{Options, Server, guest};
use serde_json::json;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;
use tempfile::TempDir;

const MODULE: &[u8] = b"\0asm\x01\0\0\0";
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

fn leb(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// A section; what is counted begins with its count.
fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [&[id], &leb(content.len())[..], content].concat()
}

/// A component with one module whose functions take and give nothing. Each body is its locals and
/// its code, without the last `end`.
fn functions(bodies: &[Vec<u8>]) -> Vec<u8> {
    let count = leb(bodies.len());
    let mut code = count.clone();
    for body in bodies {
        code.extend(leb(body.len() + 1));
        code.extend_from_slice(body);
        code.push(0x0b);
    }
    let module = [
        MODULE,
        &section(1, &[1, 0x60, 0, 0]),
        &section(3, &[&count[..], &vec![0; bodies.len()]].concat()),
        &section(10, &code),
    ]
    .concat();
    [COMPONENT, &section(1, &module)].concat()
}

fn one(body: Vec<u8>) -> Vec<u8> {
    functions(&[body])
}

/// Components within components.
fn nested_components(depth: usize) -> Vec<u8> {
    let mut levels = vec![COMPONENT.len()];
    for _ in 1..depth {
        let inner = levels[levels.len() - 1];
        levels.push(COMPONENT.len() + 1 + leb(inner).len() + inner);
    }
    let heads = levels.iter().rev().skip(1);
    let heads = heads.flat_map(|inner| [COMPONENT, &[4], &leb(*inner)].concat());
    heads.chain(COMPONENT.iter().copied()).collect()
}

/// A component with a section of types.
fn types(count: usize, types: &[u8]) -> Vec<u8> {
    [COMPONENT, &section(7, &[&leb(count), types].concat())].concat()
}

/// Types of instances within types of instances.
fn nested_types(depth: usize) -> Vec<u8> {
    types(1, &[&[0x42, 1, 1].repeat(depth)[..], &[0x73]].concat())
}

/// Pairs of pairs of pairs … of strings: twice as large with each line.
fn doubled_types(lines: usize) -> Vec<u8> {
    let mut pairs = vec![0x73];
    for line in 0..lines {
        let last = leb(line);
        pairs.extend([&[0x6f, 2], &last[..], &last].concat());
    }
    types(lines + 1, &pairs)
}

fn flip(bytes: &mut [u8], dice: &mut u64) {
    let mut roll = || {
        // xorshift
        *dice ^= *dice << 13;
        *dice ^= *dice >> 7;
        *dice ^= *dice << 17;
        *dice as usize
    };
    for _ in 0..1 + roll() % 8 {
        let at = roll() % bytes.len();
        bytes[at] ^= 1 << (roll() % 8);
    }
}

/// A folder of bad components.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("cofferdam-bad-").tempdir();
        Self(folder.expect("a folder"))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.file(name), bytes).expect("a file can be written");
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.path().join(format!("{name}.wasm"))
    }

    /// A server with these and the component of the tests, which must serve. Gives it, and why each
    /// file was refused, by name.
    async fn serve(&self, set: &[(&str, u64)]) -> (Server, Vec<(String, String)>) {
        let mut options = Options::probe().and(self.path().to_owned());
        for (key, value) in set {
            options = options.set(key, value);
        }
        let start = Instant::now();
        let server = Server::start(options).await;
        let kept = server
            .client()
            .result("keep", json!({"keys": ["a"], "bytes": 1}))
            .await;
        assert_eq!(kept["content"][0]["text"], "kept, the same");
        let refused = self.refused(&server.log().text());
        println!(
            "{} of {} files refused after {:?}",
            refused.len(),
            fs::read_dir(self.path()).expect("the folder").count(),
            start.elapsed()
        );
        (server, refused)
    }

    fn refused(&self, log: &str) -> Vec<(String, String)> {
        let start = format!("refused {}/", self.path().display());
        log.lines()
            .filter_map(|line| {
                let (_, rest) = line.split_once(&start)?;
                let (name, reason) = rest.split_once(".wasm: ")?;
                Some((name.to_owned(), reason.to_owned()))
            })
            .collect()
    }
}

/// Checks that just these were refused, each for one of its reasons.
#[track_caller]
fn reasons(refused: &[(String, String)], expected: &[(&str, &[&str])]) {
    for (name, reason) in refused {
        println!("{name}: {reason}");
    }
    let named = |name: &str| refused.iter().find(|(refused, _)| refused == name);
    for (name, any_of) in expected {
        let (_, reason) = named(name).unwrap_or_else(|| panic!("{name} was not refused"));
        assert!(
            any_of.iter().any(|part| reason.contains(part)),
            "{name}: {reason}"
        );
    }
    assert_eq!(refused.len(), expected.len());
}

#[tokio::test]
async fn a_component_that_is_cut_off_anywhere_is_refused() {
    let folder = Folder::new();
    let mut cuts = 0;
    for (guest_name, step) in [("report", 1 << 10), ("thumbnail", 64 << 10)] {
        let bytes = fs::read(guest(guest_name)).expect("a component");
        for end in (0..bytes.len()).step_by(step) {
            folder.put(&format!("{guest_name}-{end:07}"), &bytes[..end]);
            cuts += 1;
        }
    }
    let (_server, refused) = folder.serve(&[]).await;
    assert_eq!(refused.len(), cuts);
    for (name, reason) in refused {
        let whole = reason.starts_with("it is broken at byte ")
            || name.ends_with("-0000000") && reason.starts_with("it is no WebAssembly");
        assert!(whole, "{name}: {reason}");
    }
}

#[tokio::test]
async fn flipped_bits_are_refused_or_serve() {
    const FLIPPED: usize = 8;
    let folder = Folder::new();
    let bytes = fs::read(guest("report")).expect("a component");
    let mut dice = 0x0dd_ba11;
    for number in 0..FLIPPED {
        let mut flipped = bytes.clone();
        flip(&mut flipped, &mut dice);
        folder.put(&format!("flipped-{number}"), flipped);
    }
    let (server, refused) = folder.serve(&[]).await;
    for (name, reason) in &refused {
        println!("{name}: {reason}");
        assert!(!reason.is_empty());
    }
    // Those that serve the tool after the first are refused for that.
    let report = usize::from(!server.announcement().ends_with("from 1 component)"));
    assert_eq!(refused.len() + report, FLIPPED, "{}", server.announcement());
}

#[tokio::test]
async fn what_is_no_component_is_refused_whatever_its_size() {
    const LARGE: u64 = 60 << 20;
    let folder = Folder::new();
    folder.put("core-module", MODULE);
    folder.put("empty", b"");
    folder.put("text", b"(component)");
    // A file that is all hole takes no room on the disk.
    let sparse = |name: &str, head: &[u8]| {
        let mut file = File::create(folder.file(name)).expect("a file");
        file.write_all(head).expect("it can be written");
        file.set_len(head.len() as u64 + LARGE).expect("its length");
    };
    sparse("zeros", b"");
    // A custom section, and in it its name and the hole.
    let head = [&[0], &leb(LARGE as usize + 4)[..], b"\x03pad"].concat();
    let report = fs::read(guest("report")).expect("a component");
    sparse("padded", &[&report[..], &head].concat());
    let mut dice = 0x5eed_u64;
    let random: Vec<u8> = (0..LARGE / 8)
        .flat_map(|_| {
            dice = dice.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            dice.rotate_left(23).to_le_bytes()
        })
        .collect();
    folder.put("random", &random);
    folder.put("random-after-a-head", [COMPONENT, &random].concat());
    let (server, refused) = folder.serve(&[]).await;
    reasons(
        &refused,
        &[
            ("core-module", &["core module, not a component"]),
            ("empty", &["no WebAssembly"]),
            ("text", &["no WebAssembly"]),
            ("zeros", &["no WebAssembly"]),
            ("random", &["no WebAssembly"]),
            ("random-after-a-head", &["it is broken at byte "]),
        ],
    );
    let serves = server.announcement();
    assert!(serves.ends_with("from 2 components)"), "{serves}");
}

#[tokio::test]
async fn nesting_and_numbers_are_bounded_before_compiling() {
    let folder = Folder::new();
    folder.put("components", nested_components(10_000));
    folder.put("types", nested_types(1_000_000));
    folder.put("doubled", doubled_types(90));
    folder.put("many-types", types(200_000, &[0x73].repeat(200_000)));
    let empty = vec![vec![0]; 600_000];
    folder.put("functions", functions(&empty));
    folder.put(
        "modules",
        [COMPONENT, &section(1, MODULE).repeat(5_000)].concat(),
    );
    let (_server, refused) = folder.serve(&[]).await;
    reasons(
        &refused,
        &[
            ("components", &["deeper than 32 (COMPONENT_NESTING)"]),
            ("types", &["deeper than 32 (COMPONENT_NESTING)"]),
            ("doubled", &["effective type size exceeds the limit"]),
            ("many-types", &["the limit is 100000 (COMPONENT_TYPES)"]),
            ("functions", &["the limit is 500000 (COMPONENT_FUNCTIONS)"]),
            ("modules", &["the limit is 1000 (COMPONENT_MODULES)"]),
        ],
    );
}

/// What any of the compiler's worst cases may come to: it is done in time but is no tool, or a
/// limit ends it.
const WORST: &[&str] = &[
    "does not fit the world",
    "sandbox.compile-cpu-ms",
    "sandbox.compile-memory-bytes",
    "it is no valid component",
];

const SHORT: &[(&str, u64)] = &[("sandbox.compile-cpu-ms", 2_000)];

#[tokio::test]
async fn many_functions_and_long_ones_are_compiled_or_refused() {
    let folder = Folder::new();
    folder.put("many", functions(&vec![vec![0]; 100_000]));
    // i32.const 1, drop
    let long = [&[0][..], &[0x41, 1, 0x1a].repeat(2_000_000)].concat();
    folder.put("long", one(long.clone()));
    folder.put("too-long", one([long.clone(), long].concat()));
    let (server, refused) = folder.serve(SHORT).await;
    reasons(
        &refused,
        &[
            ("many", WORST),
            ("long", WORST),
            ("too-long", &["it is no valid component"]),
        ],
    );
    no_child_is_left(&server);
}

#[tokio::test]
async fn blocks_in_blocks_and_long_jump_tables_are_compiled_or_refused() {
    let folder = Folder::new();
    let nest = |blocks: usize, inner: &[u8]| {
        let (open, close) = ([0x02, 0x40].repeat(blocks), [0x0b].repeat(blocks));
        one([&[0], &open[..], inner, &close].concat())
    };
    folder.put("blocks", nest(200_000, &[]));
    // A jump out of any of 1 000 blocks.
    let (blocks, entries) = (1_000, 60_000);
    let table: Vec<u8> = (0..entries).flat_map(|n| leb(n * 7 % blocks)).collect();
    let jump = [&[0x41, 0, 0x0e], &leb(entries)[..], &table, &[0]].concat();
    folder.put("table", nest(blocks, &jump));
    let (server, refused) = folder.serve(SHORT).await;
    reasons(&refused, &[("table", WORST), ("blocks", WORST)]);
    no_child_is_left(&server);
}

#[tokio::test]
async fn thousands_of_locals_in_loops_are_compiled_or_refused() {
    let folder = Folder::new();
    // The locals pass values around in nested loops, each of which may go on.
    let (locals, loops) = (40_000, 2_000);
    let mut body = [&[1], &leb(locals)[..], &[0x7f]].concat();
    let local = |body: &mut Vec<u8>, operator: u8, number: usize| {
        body.push(operator);
        body.extend(leb(number % locals));
    };
    for n in 0..loops {
        body.extend_from_slice(&[0x03, 0x40]);
        for m in 0..20 {
            local(&mut body, 0x20, n * 20 + m * 37);
            local(&mut body, 0x21, n * 20 + m);
        }
    }
    for n in 0..loops {
        local(&mut body, 0x20, n);
        body.extend_from_slice(&[0x0d, 0, 0x0b]);
    }
    folder.put("locals", one(body));
    let (server, refused) = folder.serve(SHORT).await;
    reasons(&refused, &[("locals", WORST)]);
    no_child_is_left(&server);
}

/// Whatever compiled for this server is gone.
#[track_caller]
fn no_child_is_left(server: &Server) {
    let threads = fs::read_dir(format!("/proc/{}/task", server.pid())).expect("its threads");
    for thread in threads {
        let children = thread.expect("a thread").path().join("children");
        // A thread may have ended meanwhile.
        let children = fs::read_to_string(children).unwrap_or_default();
        assert_eq!(children, "", "compilers that are left");
    }
}

#[tokio::test]
async fn each_limit_of_compiling_is_named() {
    let folder = Folder::new();
    // A local, times 3, plus 5, again and again.
    let sum = [0x20, 0, 0x41, 3, 0x6c, 0x41, 5, 0x6a, 0x21, 0];
    let body = [&[1, 1, 0x7f], &sum.repeat(600_000)[..]].concat();
    folder.put("heavy", one(body));
    let heavy = folder.file("heavy");
    for (limit, value) in [
        ("sandbox.compile-cpu-ms", 1_000),
        ("sandbox.compile-wall-ms", 50),
        ("sandbox.compile-memory-bytes", 256 << 20),
    ] {
        let options = Options::default().and(heavy.clone()).set(limit, value);
        let start = Instant::now();
        let (status, text) = Server::refuse(options).await;
        println!("{limit}: refused after {:?}", start.elapsed());
        assert!(!status.success(), "{text}");
        let named = text.contains(&format!("(limit {limit})"))
            && text.contains(&value.to_string())
            && text.contains("heavy.wasm");
        assert!(named, "{limit}: {text}");
    }
}
