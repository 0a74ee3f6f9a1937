//! What drivers said of how they compile or link, by compiler and flags. A driver is asked once; where its answer is not
//! understood, it does the work itself from then on.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, LazyLock};

/// As many are remembered: a search through switches asks for more than anybody needs to know for long.
const MOST: usize = 4096;

/// Who does the work.
pub(crate) enum WorkWay<R> {
    /// The driver's own tools, by this recipe.
    Direct(Arc<R>),
    /// The compiler's driver, as anybody calls it.
    Driver,
}

impl<R> WorkWay<R> {
    /// The recipe, where there is one.
    pub(crate) fn recipe(&self) -> Option<Arc<R>> {
        match self {
            Self::Direct(recipe) => Some(Arc::clone(recipe)),
            Self::Driver => None,
        }
    }
}

/// Ways by what they depend on.
pub(crate) struct Recipes<K, R>(LazyLock<Mutex<HashMap<K, WorkWay<R>>>>);

impl<K: Hash + Eq, R> Recipes<K, R> {
    pub(crate) const fn new() -> Self {
        Self(LazyLock::new(Mutex::default))
    }

    /// What is known of a key; `None` when its driver was not asked yet.
    pub(crate) fn known(&self, key: &K) -> Option<WorkWay<R>> {
        self.0.lock().get(key).map(|way| way.recipe().map_or(WorkWay::Driver, WorkWay::Direct))
    }

    /// Remembers what was learned.
    pub(crate) fn keep(&self, key: K, learned: Option<R>) -> Option<Arc<R>> {
        let way = learned.map_or(WorkWay::Driver, |recipe| WorkWay::Direct(Arc::new(recipe)));
        let recipe = way.recipe();
        let mut recipes = self.0.lock();
        if recipes.len() >= MOST {
            recipes.clear();
        }
        recipes.insert(key, way);
        recipe
    }
}
