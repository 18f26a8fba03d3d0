//! Asks what to draw while it runs, and draws it row by row.

mod canvas;
mod picture;

use canvas::Canvas;
use cofferdam_guest::prelude::*;
use picture::{Palette, Subject};

/// Rows between two reports of progress.
const STRIDE: u32 = 16;

/// What to draw.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wish {
    /// What to draw
    subject: Subject,
    /// Width and height in pixels
    #[schemars(range(min = 16, max = 1024))]
    size: u32,
    /// In which colours
    palette: Palette,
}

/// Draws a fractal or a gradient as a PNG. Without a wish, the user is asked for one.
#[tool(title = "Render", task = "optional", read_only, open_world = false)]
fn render(
    call: &Call,
    /// What to draw; if left out, the user is asked.
    wish: Option<Wish>,
) -> Result<ToolResult> {
    call.start_task(TaskOptions::new().status("Choosing"))?;
    let wish = match wish {
        Some(wish) => wish,
        None => match call.ask_form::<Wish>("wish", "What shall be drawn?")? {
            Answer::Accepted(wish) => wish,
            Answer::Declined | Answer::Cancelled => {
                return Ok(ToolResult::text("Nothing was drawn."));
            }
        },
    };
    let mut canvas = Canvas::new(wish.size);
    for y in 0..wish.size {
        if y % STRIDE == 0 {
            if call.cancelled() {
                log!(info, "stopped"; row = y, rows = wish.size);
                return Err(Error::Final);
            }
            call.progress(y, Some(wish.size), "Drawing")?;
        }
        canvas.push_row(
            (0..wish.size).map(|x| wish.palette.colour(wish.subject.value(x, y, wish.size))),
        );
    }
    let png = canvas.into_png()?;
    Ok(ToolResult::new()
        .with(Image::png(png))
        .with(format!("{:?}, {} pixels wide.", wish.subject, wish.size)))
}

cofferdam_guest::export!(render);

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_guest::testing::Script;
    use cofferdam_guest::{Content, InputRequest, Tool};
    use serde_json::{Value, json};

    fn size_of(result: &ToolResult) -> (u32, u32) {
        let Content::Image(image) = &result.content[0] else {
            panic!("no image: {result:?}")
        };
        let reader = png::Decoder::new(std::io::Cursor::new(&image.data))
            .read_info()
            .unwrap();
        (reader.info().width, reader.info().height)
    }

    #[test]
    fn the_user_is_asked_what_to_draw() {
        let wish = json!({ "subject": "julia", "size": 48, "palette": "fire" });
        let script = Script::new().accept("wish", &wish);
        let result = render(&script.call(), None).unwrap();
        assert_eq!(size_of(&result), (48, 48));
        assert_eq!(result.content[1], Content::text("Julia, 48 pixels wide."));
        assert_eq!(script.progress().len(), 3);

        let [(_, InputRequest::Form(form))] = &script.asked()[..] else {
            panic!("{:?}", script.asked())
        };
        let schema: Value = serde_json::from_str(&form.schema).unwrap();
        assert_eq!(
            schema["properties"]["subject"]["oneOf"][1],
            json!({ "const": "julia", "title": "The Julia set of -0.8 + 0.156i" })
        );
        assert_eq!(schema["properties"]["size"]["maximum"], 1024);
    }

    #[test]
    fn a_wish_in_the_arguments_is_not_asked_for() {
        let script = Script::new();
        let arguments = json!({ "wish": { "subject": "gradient", "size": 16, "palette": "grey" } });
        let result = <render as Tool>::run(&script.call(), &arguments.to_string()).unwrap();
        assert_eq!(size_of(&result), (16, 16));
        assert!(script.asked().is_empty());
    }

    #[test]
    fn a_refusal_is_a_normal_end() {
        let script = Script::new().decline("wish");
        assert_eq!(
            render(&script.call(), None),
            Ok(ToolResult::text("Nothing was drawn."))
        );
    }

    #[test]
    fn a_cancelled_call_stops_drawing() {
        let script = Script::new().cancel_after(2);
        let wish = Wish {
            subject: Subject::Gradient,
            size: 1024,
            palette: Palette::Grey,
        };
        assert_eq!(render(&script.call(), Some(wish)), Err(Error::Final));
        assert_eq!(script.progress().len(), 2);
    }
}
