//! A cheap look at a component before it is compiled.
//!
//! Invariant: the look takes time and memory in proportion to the file, recurses nowhere, and lets
//! nothing pass that is cut off, nested deeper or made of more parts than `limits` allows. It does
//! not validate: that is the compiler's work.

use crate::limits;
use wasmparser::{BinaryReader, Encoding, Parser, Payload};

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Defect {
    /// No WebAssembly at all.
    #[error("it is no WebAssembly: its first bytes are not \\0asm")]
    Foreign,
    /// A core module.
    #[error(
        "it is a core module, not a component: build it for wasm32-wasip2, or link it with \
         wasm-component-ld"
    )]
    CoreModule,
    /// It ends too early, or its parts do not fit together.
    #[error("it is broken at byte {at}: {what}")]
    Broken {
        /// Where.
        at: u64,
        /// What the parser says.
        what: String,
    },
    /// It is made of too many parts.
    #[error("it has {count} {what} or more; the limit is {limit} ({name})")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many were seen when the look ended.
        count: u64,
        /// How many there may be.
        limit: u32,
        /// The limit's name.
        name: &'static str,
    },
    /// Its parts are nested too deep.
    #[error("its {what} are nested deeper than {limit} (COMPONENT_NESTING)", limit = limits::COMPONENT_NESTING)]
    TooDeep {
        /// Components or types.
        what: &'static str,
    },
}

impl From<wasmparser::Error> for Defect {
    fn from(error: wasmparser::Error) -> Self {
        Self::Broken {
            at: error.offset() as u64,
            what: error.message().to_owned(),
        }
    }
}

/// Looks at the bytes of a file.
///
/// # Errors
/// [`Defect`].
pub fn inspect(bytes: &[u8]) -> Result<(), Defect> {
    if !bytes.starts_with(b"\0asm") {
        return Err(Defect::Foreign);
    }
    let mut parts = Parts::default();
    let mut depth = 0;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::Version { encoding, .. } => {
                if depth == 0 && encoding == Encoding::Module {
                    return Err(Defect::CoreModule);
                }
                depth += 1;
                if depth > limits::COMPONENT_NESTING {
                    return Err(Defect::TooDeep { what: "components" });
                }
                parts.modules.add(1)?;
            }
            Payload::End(_) => depth -= 1,
            Payload::FunctionSection(section) => parts.functions.add(section.count())?,
            Payload::CodeSectionStart { count, .. } => parts.bodies.add(count)?,
            Payload::TypeSection(section) => parts.types.add(section.count())?,
            Payload::CoreTypeSection(section) => parts.types.add(section.count())?,
            Payload::ComponentTypeSection(section) => types(bytes, section.range(), &mut parts)?,
            Payload::ImportSection(section) => parts.imports.add(section.count())?,
            Payload::ComponentImportSection(section) => parts.imports.add(section.count())?,
            Payload::ExportSection(section) => parts.exports.add(section.count())?,
            Payload::ComponentExportSection(section) => parts.exports.add(section.count())?,
            _ => {}
        }
    }
    Ok(())
}

/// Names of what a component imports, as far as it can be read.
#[must_use]
pub fn imports(bytes: &[u8]) -> Vec<String> {
    let mut depth = 0;
    let mut names = Vec::new();
    for payload in Parser::new(0).parse_all(bytes) {
        match payload {
            Ok(Payload::Version { .. }) => depth += 1,
            Ok(Payload::End(_)) => depth -= 1,
            Ok(Payload::ComponentImportSection(section)) if depth == 1 => {
                let imports = section.into_iter().map_while(Result::ok);
                names.extend(imports.map(|import| import.name.name.to_owned()));
            }
            Ok(_) => {}
            Err(_) => break,
        }
        if names.len() > limits::COMPONENT_IMPORTS as usize {
            break;
        }
    }
    names
}

/// Walks a section of component types. Only the types of components and instances hold others; all
/// the rest is read by the parser, which recurses for these two only.
fn types(bytes: &[u8], range: std::ops::Range<usize>, parts: &mut Parts) -> Result<(), Defect> {
    let start = range.start;
    let section = bytes.get(range).unwrap_or_default();
    let mut reader = BinaryReader::new(section, start);
    // The types or declarations that are left at each level; those of the section itself first.
    let mut left = vec![reader.read_var_u32()?];
    while let Some(count) = left.last_mut() {
        if *count == 0 {
            left.pop();
            continue;
        }
        *count -= 1;
        parts.types.add(1)?;
        let is_declaration = left.len() > 1;
        if is_declaration && !holds_type(&mut reader, parts)? {
            continue;
        }
        if matches!(reader.clone().read_u8()?, 0x41 | 0x42) {
            reader.read_u8()?;
            left.push(reader.read_var_u32()?);
            if left.len() > limits::COMPONENT_NESTING {
                return Err(Defect::TooDeep { what: "types" });
            }
        } else {
            reader.read::<wasmparser::ComponentType<'_>>()?;
        }
    }
    Ok(())
}

/// Reads a declaration in the type of a component or an instance, but stops before a type.
fn holds_type(reader: &mut BinaryReader<'_>, parts: &mut Parts) -> Result<bool, Defect> {
    match reader.clone().read_u8()? {
        0x00 => {
            reader.read_u8()?;
            core_type(reader, parts)?;
        }
        0x01 => {
            reader.read_u8()?;
            return Ok(true);
        }
        0x03 => {
            reader.read_u8()?;
            reader.read::<wasmparser::ComponentImport<'_>>()?;
        }
        _ => {
            reader.read::<wasmparser::InstanceTypeDeclaration<'_>>()?;
        }
    }
    Ok(false)
}

/// Reads a core type: that of a module, whose declarations may hold groups, or a group.
fn core_type(reader: &mut BinaryReader<'_>, parts: &mut Parts) -> Result<(), Defect> {
    match reader.clone().read_u8()? {
        0x00 => {
            reader.read::<wasmparser::CoreType<'_>>()?;
            Ok(())
        }
        0x50 => {
            reader.read_u8()?;
            for _ in 0..reader.read_var_u32()? {
                if reader.clone().read_u8()? == 0x01 {
                    reader.read_u8()?;
                    group(reader, parts)?;
                } else {
                    reader.read::<wasmparser::ModuleTypeDeclaration<'_>>()?;
                }
            }
            Ok(())
        }
        _ => group(reader, parts),
    }
}

/// Reads a group of core types, or a single one. The parser would make room for as many as the group
/// claims to have.
fn group(reader: &mut BinaryReader<'_>, parts: &mut Parts) -> Result<(), Defect> {
    if reader.clone().read_u8()? != 0x4e {
        reader.read::<wasmparser::SubType>()?;
        return Ok(());
    }
    reader.read_u8()?;
    let count = reader.read_var_u32()?;
    parts.types.add(count)?;
    for _ in 0..count {
        reader.read::<wasmparser::SubType>()?;
    }
    Ok(())
}

/// What is counted.
struct Parts {
    modules: Count,
    functions: Count,
    bodies: Count,
    types: Count,
    imports: Count,
    exports: Count,
}

impl Default for Parts {
    fn default() -> Self {
        use limits::{
            COMPONENT_EXPORTS, COMPONENT_FUNCTIONS, COMPONENT_IMPORTS, COMPONENT_MODULES,
            COMPONENT_TYPES,
        };
        let functions = || Count::new("functions", COMPONENT_FUNCTIONS, "COMPONENT_FUNCTIONS");
        Self {
            modules: Count::new(
                "modules and components",
                COMPONENT_MODULES,
                "COMPONENT_MODULES",
            ),
            functions: functions(),
            bodies: functions(),
            types: Count::new("types", COMPONENT_TYPES, "COMPONENT_TYPES"),
            imports: Count::new("imports", COMPONENT_IMPORTS, "COMPONENT_IMPORTS"),
            exports: Count::new("exports", COMPONENT_EXPORTS, "COMPONENT_EXPORTS"),
        }
    }
}

struct Count {
    what: &'static str,
    limit: u32,
    name: &'static str,
    count: u64,
}

impl Count {
    fn new(what: &'static str, limit: u32, name: &'static str) -> Self {
        Self {
            what,
            limit,
            name,
            count: 0,
        }
    }

    fn add(&mut self, more: u32) -> Result<(), Defect> {
        self.count += u64::from(more);
        if self.count > u64::from(self.limit) {
            return Err(Defect::TooMany {
                what: self.what,
                count: self.count,
                limit: self.limit,
                name: self.name,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

    fn section(id: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![id];
        leb(content.len(), &mut bytes);
        bytes.extend_from_slice(content);
        bytes
    }

    fn leb(mut number: usize, bytes: &mut Vec<u8>) {
        while number > 0x7f {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    }

    fn component(sections: &[u8]) -> Vec<u8> {
        [COMPONENT, sections].concat()
    }

    fn nested_components(depth: usize) -> Vec<u8> {
        (1..depth).fold(COMPONENT.to_vec(), |inner, _| {
            component(&section(4, &inner))
        })
    }

    fn nested_types(depth: usize) -> Vec<u8> {
        // Types of instances that hold one type each; the innermost is a list of strings.
        let outer = [0x42, 1, 1].repeat(depth - 1);
        component(&section(7, &[&[1], &outer[..], &[0x70, 0x73]].concat()))
    }

    #[test]
    fn what_is_no_component_is_told_apart() {
        for (bytes, defect) in [
            (&b""[..], Defect::Foreign),
            (&[0; 1 << 10], Defect::Foreign),
            (b"(component)", Defect::Foreign),
            (b"\0asm\x01\0\0\0", Defect::CoreModule),
        ] {
            assert_eq!(inspect(bytes), Err(defect));
        }
        assert_eq!(inspect(COMPONENT), Ok(()));
        for cut in 4..COMPONENT.len() {
            let defect = inspect(&COMPONENT[..cut]).unwrap_err();
            assert!(matches!(defect, Defect::Broken { .. }), "{defect}");
        }
    }

    #[test]
    fn nesting_is_bounded_to_the_level() {
        let most = limits::COMPONENT_NESTING;
        for (what, make) in [
            ("components", nested_components as fn(usize) -> Vec<u8>),
            ("types", nested_types),
        ] {
            assert_eq!(inspect(&make(most)), Ok(()), "{what}");
            for depth in [most + 1, 10_000] {
                assert_eq!(inspect(&make(depth)), Err(Defect::TooDeep { what }));
            }
        }
    }

    #[test]
    fn what_a_section_claims_counts_before_it_is_read() {
        let mut claim = Vec::new();
        leb(limits::COMPONENT_IMPORTS as usize + 1, &mut claim);
        let defect = inspect(&component(&section(10, &claim))).unwrap_err();
        let name = "imports or more; the limit is 100000 (COMPONENT_IMPORTS)";
        assert!(defect.to_string().ends_with(name), "{defect}");
    }

    #[test]
    fn groups_of_core_types_count_before_room_is_made_for_them() {
        // In the type of an instance, and there in the type of a module.
        for before in [&[1, 0x42, 1, 0][..], &[1, 0x42, 1, 0, 0x50, 1, 1]] {
            let group = |count: usize, types: &[u8]| {
                let mut content = [before, &[0x4e]].concat();
                leb(count, &mut content);
                inspect(&component(&section(7, &[&content, types].concat())))
            };
            let function = [0x60, 0, 0];
            assert_eq!(group(2, &function.repeat(2)), Ok(()));
            let short = group(2, &function).unwrap_err();
            assert!(matches!(short, Defect::Broken { .. }), "{short}");
            let defect = group(limits::COMPONENT_TYPES as usize, &[]).unwrap_err();
            assert!(
                matches!(defect, Defect::TooMany { what: "types", .. }),
                "{defect}"
            );
        }
    }

    #[test]
    fn types_within_types_count_too() {
        let half = limits::COMPONENT_TYPES as usize / 2;
        let mut content = vec![2];
        for _ in 0..2 {
            content.push(0x42);
            leb(half, &mut content);
            content.extend_from_slice(&[1, 0x73].repeat(half));
        }
        let defect = inspect(&component(&section(7, &content))).unwrap_err();
        assert!(
            matches!(defect, Defect::TooMany { what: "types", .. }),
            "{defect}"
        );
    }
}
