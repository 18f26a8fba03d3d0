//! Stacks as `perf` tells them, brought to a form that can be read.

/// The frame on which everything stands that a guest ran.
const GUEST: &str = "guest";
/// ... and all else.
const SERVER: &str = "server";

/// Lines `frame;frame;... count`, outermost first, as stacks on [`GUEST`] or [`SERVER`].
pub(super) fn by_side(folded: &str) -> Vec<String> {
    folded.lines().filter_map(side).collect()
}

fn side(line: &str) -> Option<String> {
    let (stack, count) = line.rsplit_once(' ')?;
    // The first frame is the thread's name.
    let frames: Vec<&str> = stack.split(';').skip(1).collect();
    let guests = frames.iter().rposition(|frame| is_guest(frame));
    let (root, frames) = match guests {
        Some(last) => (GUEST, &frames[last + 1..]),
        None => (SERVER, &frames[..]),
    };
    let mut line = root.to_owned();
    for frame in frames {
        line.push(';');
        line.push_str(frame);
    }
    Some(format!("{line} {count}"))
}

/// The machine code of components, and the code around it that the engine makes with it.
fn is_guest(frame: &str) -> bool {
    frame.starts_with("wasm[")
        || frame.starts_with("wasmtime_builtin_")
        || frame.ends_with(".cwasm]")
}

#[cfg(test)]
mod tests {
    use super::by_side;

    #[test]
    fn what_a_guest_calls_stands_on_the_guest() {
        let folded = "tokio-rt-worker;main;poll 3\n\
                      tokio-rt-worker;wasm[0]::function[7];[5c-1f.cwasm];progress;lock 2\n\
                      tokio-rt-worker;wasmtime_builtin_new_epoch 1\n";
        let expected = ["server;main;poll 3", "guest;progress;lock 2", "guest 1"];
        assert_eq!(by_side(folded), expected);
    }
}
