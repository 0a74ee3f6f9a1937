//! JSON schemas of everything that is printed or read as JSON, generated from the types that do it.
//!
//! `docs/schemas/` holds them as they are now; a test compares. A change that readers notice is a new version of the
//! document (`trueline.check/2`), and the file of the old one stays.

use super::{check, debug, doctor, hunt, isolate, ledger, merge, mutate, passes, reduce, repair, report, same, suite, toolchains, triage};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use trueline_model::{Step, TraceHeader};

fn printed() -> SchemaGenerator {
    SchemaSettings::draft2020_12().for_serialize().into_generator()
}

fn read() -> SchemaGenerator {
    SchemaSettings::draft2020_12().for_deserialize().into_generator()
}

/// A document that names itself; `schema` holds exactly that name.
fn named<T: JsonSchema>(generator: SchemaGenerator, name: &str) -> Schema {
    let mut schema = generator.into_root_schema_for::<T>();
    if let Some(property) = schema.pointer_mut("/properties/schema") {
        property["const"] = name.into();
    }
    schema
}

/// JSON Lines: a header, then a step on each line.
fn trace() -> Schema {
    let mut generator = printed();
    let lines = [generator.subschema_for::<TraceHeader>(), generator.subschema_for::<Step>()];
    let definitions = generator.take_definitions(true);
    json_schema!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Trace",
        "description": "One line of `trueline trace --json`: the first is the header, each other one a step.",
        "anyOf": lines,
        "$defs": definitions,
    })
}

/// Every schema by the name of its file.
pub fn all() -> Vec<(&'static str, Schema)> {
    vec![
        ("baseline", named::<check::BaselineDocument>(read(), "trueline.baseline/1")),
        ("check", named::<check::Document<'_>>(printed(), "trueline.check/2")),
        ("debug", named::<debug::Document<'_>>(printed(), "trueline.debug/1")),
        ("doctor", named::<doctor::Document<'_>>(printed(), "trueline.doctor/1")),
        ("hunt", named::<hunt::progress::HuntLine<'_>>(printed(), "trueline.hunt/2")),
        ("isolate", named::<isolate::Document<'_>>(printed(), "trueline.isolate/1")),
        ("ledger", named::<ledger::Document<'_>>(printed(), "trueline.ledger/1")),
        ("merge", named::<merge::Document<'_>>(printed(), "trueline.merge/1")),
        ("mutate", named::<mutate::Document<'_>>(printed(), "trueline.mutate/1")),
        ("passes", named::<passes::Document<'_>>(printed(), "trueline.passes/1")),
        ("pair", named::<triage::PairDocument<'_>>(printed(), "trueline.pair/1")),
        ("project", named::<triage::ProjectDocument<'_>>(printed(), "trueline.project/1")),
        ("reduce", named::<reduce::Document<'_>>(printed(), "trueline.reduce/1")),
        ("repair", named::<repair::Document<'_>>(printed(), "trueline.repair/1")),
        ("repair-proof", named::<trueline_repair::given::ProofFile>(read(), "trueline.repair-proof/1")),
        ("report", named::<report::Document<'_>>(printed(), "trueline.report/1")),
        ("same", named::<same::Document<'_>>(printed(), "trueline.same/1")),
        ("suite", named::<suite::Document<'_>>(printed(), "trueline.suite/1")),
        ("toolchains", named::<toolchains::Document<'_>>(printed(), "trueline.toolchains/1")),
        ("trace", trace()),
        ("triage", named::<triage::TriageDocument<'_>>(printed(), "trueline.triage/2")),
    ]
}
