//! A proof from elsewhere: correlated PC pairs and affine invariants, as a file.
//!
//! ```json
//! {"schema": "trueline.repair-proof/1",
//!  "functions": [{"name": "s000",
//!    "points": [{"pc": 4800, "source_line": 7,
//!      "invariants": [{"terms": {"i": 4, "rax": -1}, "constant": 0}]}]}]}
//! ```
//! Each invariant says that the sum of factors times terms plus the constant is zero. A term is a source
//! variable, a 64-bit register, `base` (what was added to link-time addresses) or `&symbol`.

use crate::relation::{Affine, Relation, Source};
use num_bigint::BigInt;
use serde::Deserialize;
use std::collections::BTreeMap;
use trueline_machine::algebra::GPR_NAMES;
use trueline_machine::image::Image;
use trueline_machine::matrix::{self, Rational};

/// The file.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
pub struct ProofFile {
    /// `trueline.repair-proof/1`.
    pub schema: String,
    /// Functions.
    pub functions: Vec<GivenFunction>,
}

/// One function.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
pub struct GivenFunction {
    /// Its name.
    pub name: String,
    /// Correlated points.
    pub points: Vec<Point>,
}

/// A correlated point.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
pub struct Point {
    /// Link-time address in the optimized file.
    pub pc: u64,
    /// Source line.
    #[serde(default)]
    pub source_line: u64,
    /// Freestyle affine invariants.
    pub invariants: Vec<Invariant>,
}

/// `Σ factor·term + constant = 0`.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
pub struct Invariant {
    /// Factors by term.
    pub terms: BTreeMap<String, i64>,
    /// The constant.
    #[serde(default)]
    pub constant: i64,
}

/// Reads a file.
pub fn read(text: &str) -> Result<ProofFile, String> {
    let file: ProofFile = serde_json::from_str(text).map_err(|e| e.to_string())?;
    if file.schema == "trueline.repair-proof/1" {
        Ok(file)
    } else {
        Err(format!("its schema is `{}`, not trueline.repair-proof/1", file.schema))
    }
}

impl Point {
    /// Source-to-assembly relations by variable name: the matrix with source variables first, reduced.
    pub fn relations(&self, image: &Image) -> Vec<(String, Relation)> {
        let machine = |name: &str| -> Option<(Source, i64)> {
            if let Some(n) = GPR_NAMES.iter().position(|r| *r == name) {
                return Some((Source::Register(n as u8), 0));
            }
            if name == "base" {
                return Some((Source::Bias, 0));
            }
            let symbol = name.strip_prefix('&')?;
            let at = image.symbols.iter().find(|s| s.name == symbol)?.address;
            Some((Source::Bias, at as i64))
        };
        let mut variables: Vec<&String> = Vec::new();
        let mut columns: Vec<Source> = Vec::new();
        for name in self.invariants.iter().flat_map(|i| i.terms.keys()) {
            match machine(name) {
                Some((source, _)) if !columns.contains(&source) => columns.push(source),
                Some(_) => {}
                None if !variables.contains(&name) => variables.push(name),
                None => {}
            }
        }
        let number = |x: i64| Rational::from_integer(BigInt::from(x));
        let rows: Vec<Vec<Rational>> = self
            .invariants
            .iter()
            .map(|invariant| {
                let mut row = vec![number(0); variables.len() + columns.len() + 1];
                let last = row.len() - 1;
                row[last] = number(invariant.constant);
                for (name, factor) in &invariant.terms {
                    match machine(name) {
                        Some((source, at)) => {
                            let column = variables.len() + columns.iter().position(|c| *c == source).unwrap_or(0);
                            row[column] = row[column].clone() + number(*factor);
                            row[last] = row[last].clone() + number(at.wrapping_mul(*factor));
                        }
                        None => {
                            let column = variables.iter().position(|v| *v == name).unwrap_or(0);
                            row[column] = row[column].clone() + number(*factor);
                        }
                    }
                }
                row
            })
            .collect();
        let found = matrix::source_rows(rows, variables.len());
        found
            .into_iter()
            .filter_map(|(n, row)| {
                let affine: Affine = crate::fit::affine_of(&row[variables.len()..], &columns)?;
                Some((variables[n].clone(), Relation::Affine(affine)))
            })
            .collect()
    }
}
