//! Schemas that are more than what a Rust type says.

use cofferdam_guest::prelude::*;

/// Takes what a schema with everything of JSON Schema 2020-12 allows.
#[tool(schema = include_str!("schema_2020_12.json"))]
pub fn json_schema_2020_12_tool() -> &'static str {
    "The arguments fit the schema."
}

/// Takes an argument that clients repeat as a header.
#[tool]
pub fn test_custom_header(
    /// Where to go.
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: Option<String>,
) -> String {
    match region {
        Some(region) => format!("The region is {region}."),
        None => "There is no region.".to_owned(),
    }
}
