//! Asks what to draw while it runs, and draws it row by row.

mod canvas;
mod palette;
mod scene;

use canvas::Canvas;
use cofferdam_guest::prelude::*;
use palette::Palette;
use scene::Scene;

/// Rows between two reports of progress.
const STRIDE: u32 = 16;

/// What to draw.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Picture {
    /// What to draw
    scene: Scene,
    /// Width and height in pixels
    #[schemars(range(min = 16, max = 1024))]
    size: u32,
    /// In which colours
    palette: Palette,
}

/// Draws a fractal or a gradient as a PNG. The user is asked which, unless the arguments say it.
#[tool(title = "Render", task = "optional", read_only, open_world = false)]
fn render(
    call: &Call,
    /// What to draw; if left out, the user is asked.
    picture: Option<Picture>,
) -> Result<ToolResult> {
    call.start_task(TaskOptions::new().status("Choosing"))?;
    let picture = match picture {
        Some(picture) => picture,
        None => match call.ask_form::<Picture>("picture", "What shall be drawn?")? {
            Answer::Accepted(picture) => picture,
            Answer::Declined | Answer::Cancelled => {
                return Ok(ToolResult::text("Nothing was drawn."));
            }
        },
    };
    let Picture {
        scene,
        size,
        palette,
    } = picture;
    // The middle of a pixel, from 0 to 1.
    let place = |n: u32| (f64::from(n) + 0.5) / f64::from(size);
    let mut canvas = Canvas::new(size);
    for y in 0..size {
        if call.cancelled() {
            log!(info, "stopped"; row = y, rows = size);
            return Err(Error::Final);
        }
        canvas.push_row((0..size).map(|x| palette.colour(scene.brightness(place(x), place(y)))));
        let rows = y + 1;
        if rows % STRIDE == 0 || rows == size {
            call.progress(rows, Some(size), &format!("{rows} of {size} rows"))?;
        }
    }
    let png = canvas.into_png()?;
    Ok(ToolResult::new()
        .with(Image::png(png))
        .with(format!("{scene:?}, {size} x {size} pixels")))
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
        let picture = json!({ "scene": "julia", "size": 40, "palette": "fire" });
        let script = Script::new().accept("picture", &picture);
        let result = render(&script.call(), None).unwrap();
        assert_eq!(size_of(&result), (40, 40));
        assert_eq!(result.content[1], Content::text("Julia, 40 x 40 pixels"));
        let progress = script.progress();
        let told: Vec<&str> = progress.iter().map(|told| &*told.message).collect();
        assert_eq!(told, ["16 of 40 rows", "32 of 40 rows", "40 of 40 rows"]);

        let [(_, InputRequest::Form(form))] = &script.asked()[..] else {
            panic!("{:?}", script.asked())
        };
        let schema: Value = serde_json::from_str(&form.schema).unwrap();
        let choices = &schema["properties"]["scene"]["oneOf"];
        assert_eq!(
            choices[0],
            json!({ "const": "mandelbrot", "title": "The Mandelbrot set" })
        );
        assert_eq!(schema["properties"]["size"]["maximum"], 1024);
    }

    #[test]
    fn a_picture_in_the_arguments_is_not_asked_for() {
        let script = Script::new();
        let arguments =
            json!({ "picture": { "scene": "gradient", "size": 16, "palette": "grey" } });
        let result = <render as Tool>::run(&script.call(), &arguments.to_string()).unwrap();
        assert_eq!(size_of(&result), (16, 16));
        assert!(script.asked().is_empty());
    }

    #[test]
    fn a_lost_server_does_not_change_a_picture() {
        let picture = json!({ "scene": "mandelbrot", "size": 16, "palette": "ocean" });
        let script = Script::new().accept("picture", &picture);
        let result = script.lost_everywhere(|call| render(call, None));
        assert_eq!(size_of(&result.unwrap()), (16, 16));
    }

    #[test]
    fn a_refusal_is_a_normal_end() {
        let script = Script::new().decline("picture");
        assert_eq!(
            render(&script.call(), None),
            Ok(ToolResult::text("Nothing was drawn."))
        );
    }

    #[test]
    fn a_cancelled_call_stops_drawing() {
        let script = Script::new().cancel_after(2);
        let picture = Picture {
            scene: Scene::Gradient,
            size: 1024,
            palette: Palette::Grey,
        };
        assert_eq!(render(&script.call(), Some(picture)), Err(Error::Final));
        assert_eq!(script.progress().len(), 2);
    }
}
