//! The calls that lead from a project's objects to one of its programs, in the order in which they can be repeated.
//!
//! They are found backwards, from the program over the archives and libraries that its link names. What a build does
//! between compiling and linking by other means (copying, stripping, extracting) is not seen here: whoever repeats the
//! calls must compare what comes out with what the build made.

use crate::BuiltTree;
use crate::calls::ToolCall;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The calls behind one program.
#[derive(Debug)]
pub(crate) struct ProgramRecipe {
    /// Archivers and links, each after those whose products it reads.
    pub(crate) steps: Vec<RecipeStep>,
}

/// One call with what it makes.
#[derive(Debug)]
pub(crate) struct RecipeStep {
    pub(crate) call: ToolCall,
    /// The archive, library or program, from the root of the tree.
    pub(crate) product: PathBuf,
    pub(crate) kind: StepKind,
}

/// What a step does with its product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepKind {
    /// Adds members to an archive.
    Archive,
    /// Makes a program or library anew.
    Link,
}

impl ProgramRecipe {
    /// The calls behind a program of a tree, given from its root; none when no recorded call made it, or when a list of files
    /// names the tree itself, so that the calls would read its objects wherever they are repeated.
    pub(crate) fn of(tree: &BuiltTree, program: &Path) -> Option<Self> {
        let root = tree.root();
        let mut made: BTreeMap<PathBuf, Vec<(&ToolCall, StepKind)>> = BTreeMap::new();
        for call in &tree.archivings {
            if let Some(product) = call.archived(root) {
                made.entry(product).or_default().push((call, StepKind::Archive));
            }
        }
        for call in &tree.compilations {
            if let Some(product) = call.linked(root) {
                // Of several links the last one made what is there.
                let earlier = made.insert(product.clone(), vec![(call, StepKind::Link)]);
                if let Some(earlier) = earlier.filter(|e| e[0].0.at > call.at) {
                    made.insert(product, earlier);
                }
            }
        }
        let mut finder = Finder { root, made, steps: Vec::new(), seen: BTreeSet::new() };
        finder.visit(program)?;
        (!finder.steps.is_empty()).then_some(Self { steps: finder.steps })
    }
}

struct Finder<'a> {
    root: &'a Path,
    made: BTreeMap<PathBuf, Vec<(&'a ToolCall, StepKind)>>,
    steps: Vec<RecipeStep>,
    seen: BTreeSet<PathBuf>,
}

impl Finder<'_> {
    /// Adds the steps behind a file; none when they cannot be repeated elsewhere.
    fn visit(&mut self, file: &Path) -> Option<()> {
        if !self.seen.insert(file.to_owned()) {
            return Some(());
        }
        let mut calls = self.made.get(file).cloned().unwrap_or_default();
        calls.sort_by_key(|(call, _)| call.at);
        for (call, kind) in calls {
            for word in &call.args {
                if let Some(list) = word.strip_prefix('@') {
                    let text = std::fs::read_to_string(call.directory.join(list)).ok()?;
                    (!text.contains(&*self.root.to_string_lossy())).then_some(())?;
                }
                for input in self.named(call, word) {
                    self.visit(&input)?;
                }
            }
            self.steps.push(RecipeStep { call: call.clone(), product: file.to_owned(), kind });
        }
        Some(())
    }

    /// The products that a word of a call names: a path, or `-lNAME`.
    fn named(&self, call: &ToolCall, word: &str) -> Vec<PathBuf> {
        match word.strip_prefix("-l") {
            Some(name) => {
                let names = [format!("lib{name}.a"), format!("lib{name}.so")];
                let is_it = |path: &&PathBuf| path.file_name().is_some_and(|n| names.iter().any(|name| n == name.as_str()));
                self.made.keys().filter(is_it).cloned().collect()
            }
            None => call.within(self.root, word).filter(|path| self.made.contains_key(path)).into_iter().collect(),
        }
    }
}
