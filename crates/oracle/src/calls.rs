//! The calls of a run, so that the same call can be found in the run of another build: by the functions and call lines that
//! lead to it, and by how many came that way before.

use std::collections::HashMap;
use std::sync::Arc;
use trueline_model::{CallId, Frame, Line};

/// A function on the way from main, with the line of the call that it waits for; none for the innermost.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Link {
    /// The function that is active.
    pub function: Arc<str>,
    /// The line it calls from.
    pub calls_from: Option<Line>,
}

/// How a run came to a call, innermost function first.
pub type Way = Arc<[Link]>;

/// The way that frames show, innermost first.
pub fn way_of(frames: &[Frame]) -> Way {
    let link = |(depth, frame): (usize, &Frame)| Link {
        function: Arc::clone(&frame.function),
        calls_from: if depth == 0 { None } else { frame.line },
    };
    frames.iter().enumerate().map(link).collect()
}

/// A call as another build's run can know it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallName {
    /// How the run came to it.
    pub way: Way,
    /// How many calls came the same way before.
    pub nth: u32,
}

/// One call.
#[derive(Clone, Debug)]
struct Call {
    name: CallName,
    caller: Option<CallId>,
}

/// All calls of a run.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    by_id: HashMap<CallId, Call>,
    by_way: HashMap<Way, Vec<CallId>>,
}

impl Calls {
    /// Notes a call with the frames at its beginning.
    pub fn note(&mut self, call: CallId, caller: Option<CallId>, frames: &[Frame]) {
        let way = way_of(frames);
        let same = self.by_way.entry(Arc::clone(&way)).or_default();
        let nth = same.len() as u32;
        same.push(call);
        self.by_id.insert(call, Call { name: CallName { way, nth }, caller });
    }

    /// The name of a call.
    pub fn name(&self, call: CallId) -> Option<&CallName> {
        self.by_id.get(&call).map(|c| &c.name)
    }

    /// How many calls came one way.
    pub fn count(&self, way: &Way) -> usize {
        self.by_way.get(way).map_or(0, Vec::len)
    }

    /// How many calls a function has, whatever the way.
    pub fn count_of(&self, function: &str) -> usize {
        self.by_way.iter().filter(|(way, _)| way.first().is_some_and(|l| *l.function == *function)).map(|(_, calls)| calls.len()).sum()
    }

    /// Whether a function is ever called while it is active.
    pub fn is_recursive(&self, function: &str) -> bool {
        self.by_way.keys().any(|way| way.iter().filter(|l| *l.function == *function).count() > 1)
    }

    /// The call of a name.
    pub fn find(&self, name: &CallName) -> Option<CallId> {
        self.by_way.get(&name.way)?.get(name.nth as usize).copied()
    }

    /// The calls that came one way and have `root` so many callers outwards: where another build inlined the calls in between,
    /// it can be in any of them.
    pub fn within(&self, way: &Way, root: CallId, depth: usize) -> Vec<CallId> {
        let all = self.by_way.get(way).into_iter().flatten().copied();
        all.filter(|call| self.outer(*call, depth) == Some(root)).collect()
    }

    /// The same for all roots at once: a loop may make thousands of calls.
    pub fn by_root(&self, way: &Way, depth: usize) -> HashMap<CallId, Vec<CallId>> {
        let mut found: HashMap<CallId, Vec<CallId>> = HashMap::new();
        for call in self.by_way.get(way).into_iter().flatten() {
            if let Some(root) = self.outer(*call, depth) {
                found.entry(root).or_default().push(*call);
            }
        }
        found
    }

    fn outer(&self, call: CallId, depth: usize) -> Option<CallId> {
        (0..depth).try_fold(call, |call, _| self.by_id.get(&call)?.caller)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueline_model::FrameKind;

    fn frames(list: &[(&str, u32)]) -> Vec<Frame> {
        let frame = |(function, line): &(&str, u32)| Frame {
            function: Arc::from(*function),
            kind: FrameKind::Real,
            file: None,
            line: Some(Line(*line)),
        };
        list.iter().map(frame).collect()
    }

    #[test]
    fn a_call_is_known_by_its_way_and_its_number_on_it() {
        let mut calls = Calls::default();
        calls.note(CallId(0), None, &frames(&[("main", 9)]));
        calls.note(CallId(1), Some(CallId(0)), &frames(&[("f", 1), ("main", 10)]));
        calls.note(CallId(2), Some(CallId(0)), &frames(&[("f", 1), ("main", 11)]));
        calls.note(CallId(3), Some(CallId(0)), &frames(&[("f", 1), ("main", 10)]));
        let third = calls.name(CallId(3)).unwrap().clone();
        assert_eq!((third.nth, calls.count(&third.way), calls.find(&third)), (1, 2, Some(CallId(3))));
        assert_eq!(calls.within(&third.way, CallId(0), 1), [CallId(1), CallId(3)]);
        assert_eq!(calls.within(&third.way, CallId(0), 2), []);
        assert_eq!(calls.by_root(&third.way, 1), HashMap::from([(CallId(0), vec![CallId(1), CallId(3)])]));
        assert_eq!(calls.by_root(&third.way, 0).len(), 2);
    }
}
