//! How a component lies in a registry: the WebAssembly OCI artifact layout, as `wkg` writes it. A
//! manifest names a configuration, which tells what the component is, and one layer, which is it.
//!
//! Invariant: a [`Manifest`] is what its digest says, byte for byte, and names one component that is
//! not larger than `COMPONENT_BYTES`.

use super::Digest;
use crate::limits::COMPONENT_BYTES;
use crate::runtime::{Defect, inspect};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wasmparser::{Parser, Payload};

/// The type of the manifest.
pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The type of the configuration.
const CONFIG: &str = "application/vnd.wasm.config.v0+json";
/// The type of the layer.
const LAYER: &str = "application/wasm";
/// The annotation that holds the text of the component's minisign signature.
const SIGNATURE: &str = "io.github.cofferdam.minisign";

/// What a registry holds of a component.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// Its own digest.
    pub digest: Digest,
    /// The component's.
    pub component: Digest,
    /// The component's size, bytes.
    pub size: u64,
    /// The component's signature, as minisign wrote it.
    pub signature: Option<String>,
    bytes: Vec<u8>,
}

/// Why a manifest is none of a component.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// It is no manifest.
    #[error("it is no manifest: {0}")]
    Malformed(String),
    /// It is one of something else.
    #[error(
        "it is {0}, not a WebAssembly component (a manifest with a configuration of type {CONFIG} \
         and one layer of type {LAYER}); push one with `cofferdam push` or `wkg oci push`"
    )]
    Foreign(String),
    /// Its component is too large.
    #[error("its component has {0} bytes; the limit is {COMPONENT_BYTES} (COMPONENT_BYTES)")]
    TooLarge(u64),
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    schema_version: u32,
    #[serde(default)]
    media_type: Option<String>,
    #[serde(default)]
    config: Option<Descriptor>,
    #[serde(default)]
    layers: Vec<Descriptor>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: String,
    digest: String,
    size: u64,
}

/// The configuration of an artifact.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    created: String,
    author: Option<String>,
    architecture: &'static str,
    os: &'static str,
    layer_digests: [String; 1],
    component: Names,
}

/// What a component has on its outside.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Names {
    exports: Vec<String>,
    imports: Vec<String>,
    target: Option<String>,
}

impl Manifest {
    /// Reads one.
    ///
    /// # Errors
    /// [`ManifestError`].
    pub fn read(bytes: Vec<u8>) -> Result<Self, ManifestError> {
        let raw: Raw = serde_json::from_slice(&bytes)
            .map_err(|error| ManifestError::Malformed(error.to_string()))?;
        if raw.schema_version != 2 {
            let version = raw.schema_version;
            return Err(ManifestError::Malformed(format!(
                "its schemaVersion is {version}, not 2"
            )));
        }
        let foreign = |what: String| Err(ManifestError::Foreign(what));
        if let Some(other) = raw.media_type.filter(|it| it != MANIFEST) {
            return foreign(format!("of type {other:?}"));
        }
        let config = raw.config.map_or_else(String::new, |it| it.media_type);
        if config != CONFIG {
            return foreign(format!("one with a configuration of type {config:?}"));
        }
        let [layer] = raw.layers.as_slice() else {
            return foreign(format!("one with {} layers", raw.layers.len()));
        };
        if layer.media_type != LAYER {
            return foreign(format!("one with a layer of type {:?}", layer.media_type));
        }
        if layer.size > COMPONENT_BYTES {
            return Err(ManifestError::TooLarge(layer.size));
        }
        let component = layer.digest.parse().map_err(ManifestError::Malformed)?;
        let mut annotations = raw.annotations;
        Ok(Self {
            digest: Digest::of(&bytes),
            component,
            size: layer.size,
            signature: annotations.remove(SIGNATURE),
            bytes,
        })
    }

    /// It, byte for byte.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// That of a component, with the configuration that it names.
    ///
    /// # Errors
    /// The bytes are no component.
    pub fn of(
        component: &[u8],
        signature: Option<&str>,
        created: Timestamp,
    ) -> Result<(Self, Vec<u8>), Defect> {
        inspect(component)?;
        let digest = Digest::of(component);
        let config = Config {
            created: created.to_string(),
            author: None,
            architecture: "wasm",
            os: "wasip2",
            layer_digests: [digest.to_string()],
            component: Names::of(component)?,
        };
        let config = json(&config);
        let raw = Raw {
            schema_version: 2,
            media_type: Some(MANIFEST.to_owned()),
            config: Some(Descriptor {
                media_type: CONFIG.to_owned(),
                digest: Digest::of(&config).to_string(),
                size: config.len() as u64,
            }),
            layers: vec![Descriptor {
                media_type: LAYER.to_owned(),
                digest: digest.to_string(),
                size: component.len() as u64,
            }],
            annotations: signature
                .map(|text| (SIGNATURE.to_owned(), text.to_owned()))
                .into_iter()
                .collect(),
        };
        let bytes = json(&raw);
        let manifest = Self {
            digest: Digest::of(&bytes),
            component: digest,
            size: component.len() as u64,
            signature: signature.map(str::to_owned),
            bytes,
        };
        Ok((manifest, config))
    }
}

/// What has only strings for keys can be written.
fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

impl Names {
    fn of(component: &[u8]) -> Result<Self, wasmparser::Error> {
        let mut names = Self::default();
        let mut depth = 0_usize;
        for payload in Parser::new(0).parse_all(component) {
            match payload? {
                Payload::Version { .. } => depth += 1,
                Payload::End(_) => depth -= 1,
                Payload::ComponentImportSection(section) if depth == 1 => {
                    for import in section {
                        names.imports.push(import?.name.name.to_owned());
                    }
                }
                Payload::ComponentExportSection(section) if depth == 1 => {
                    for export in section {
                        names.exports.push(export?.name.name.to_owned());
                    }
                }
                _ => {}
            }
        }
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const COMPONENT: &str = r#"(component
        (import "wasi:io/poll@0.2.0" (instance $poll))
        (component $inner (import "hidden" (instance)))
        (export "acme:tools/handler@1.0.0" (instance $poll)))"#;

    fn component() -> Vec<u8> {
        wat(COMPONENT)
    }

    fn wat(text: &str) -> Vec<u8> {
        wat::parse_str(text).unwrap()
    }

    fn changed(change: impl FnOnce(&mut Value)) -> Result<Manifest, ManifestError> {
        let (manifest, _) =
            Manifest::of(&component(), Some("signed"), Timestamp::UNIX_EPOCH).unwrap();
        let mut value: Value = serde_json::from_slice(manifest.bytes()).unwrap();
        change(&mut value);
        Manifest::read(serde_json::to_vec(&value).unwrap())
    }

    #[test]
    fn a_manifest_that_was_written_is_read() {
        let component = component();
        let (written, config) =
            Manifest::of(&component, Some("signed"), Timestamp::UNIX_EPOCH).unwrap();
        let read = Manifest::read(written.bytes().to_vec()).unwrap();
        assert_eq!(read.digest, written.digest);
        assert_eq!(read.digest, Digest::of(read.bytes()));
        assert_eq!(read.component, Digest::of(&component));
        assert_eq!(read.size, component.len() as u64);
        assert_eq!(read.signature.as_deref(), Some("signed"));
        let config: Value = serde_json::from_slice(&config).unwrap();
        assert_eq!(
            config,
            json!({
                "created": "1970-01-01T00:00:00Z",
                "author": null,
                "architecture": "wasm",
                "os": "wasip2",
                "layerDigests": [Digest::of(&component).to_string()],
                "component": {
                    "exports": ["acme:tools/handler@1.0.0"],
                    "imports": ["wasi:io/poll@0.2.0"],
                    "target": null,
                },
            })
        );
    }

    #[test]
    fn a_manifest_that_is_cut_off_is_refused() {
        for end in 0..PUBLISHED.len() {
            assert!(Manifest::read(PUBLISHED[..end].into()).is_err(), "{end}");
        }
    }

    /// As `oci-wasm` 0.6 pushed it.
    const PUBLISHED: &str = r#"{"config":{"digest":"sha256:c94435409a7e77dccf319413571044c6d93c730f224d2866239a7091b5cc33c1","mediaType":"application/vnd.wasm.config.v0+json","size":951},"layers":[{"digest":"sha256:6892c704648ff20554517a6c715978c45a01a3a6656a0c4847045579eccea9ff","mediaType":"application/wasm","size":305555}],"mediaType":"application/vnd.oci.image.manifest.v1+json","schemaVersion":2}"#;

    #[test]
    fn a_manifest_of_the_published_library_is_read() {
        let manifest = Manifest::read(PUBLISHED.into()).unwrap();
        let digest = "21377318c3fda1353fb0958ac7c05cdd505eea2cc192b7069eb7d47b10e766fa";
        assert_eq!(manifest.digest.hex(), digest);
        assert!(manifest.component.hex().starts_with("6892c704648ff205"));
        assert_eq!((manifest.size, manifest.signature), (305_555, None));
    }

    #[test]
    fn what_is_no_component_is_not_written() {
        let module = wat("(module)");
        assert!(Manifest::of(&module, None, Timestamp::UNIX_EPOCH).is_err());
        assert!(Manifest::of(b"text", None, Timestamp::UNIX_EPOCH).is_err());
    }

    #[test]
    fn what_is_no_component_is_not_read() {
        type Change = fn(&mut Value);
        let changes: [(Change, &str); 8] = [
            (
                |it| it["mediaType"] = json!("application/vnd.oci.image.index.v1+json"),
                "index",
            ),
            (
                |it| it["config"]["mediaType"] = json!("application/vnd.oci.image.config.v1+json"),
                "image.config",
            ),
            (|it| it["layers"] = json!([]), "0 layers"),
            (
                |it| it["layers"] = json!([it["layers"][0], it["layers"][0]]),
                "2 layers",
            ),
            (
                |it| it["layers"][0]["mediaType"] = json!("application/tar"),
                "application/tar",
            ),
            (
                |it| it["layers"][0]["size"] = json!(COMPONENT_BYTES + 1),
                "COMPONENT_BYTES",
            ),
            (
                |it| it["layers"][0]["digest"] = json!("sha256:../../x"),
                "sha256:../../x",
            ),
            (|it| it["schemaVersion"] = json!(1), "schemaVersion"),
        ];
        for (change, named) in changes {
            let error = changed(change).unwrap_err().to_string();
            assert!(error.contains(named), "{named}: {error}");
        }
        let error = Manifest::read(b"<html>".to_vec()).unwrap_err();
        assert!(matches!(error, ManifestError::Malformed(_)), "{error}");
    }

    #[test]
    fn a_manifest_need_not_name_its_own_type() {
        let manifest = changed(|it| {
            it.as_object_mut().unwrap().remove("mediaType");
        });
        assert_eq!(manifest.unwrap().size, component().len() as u64);
    }
}
