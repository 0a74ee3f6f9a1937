//! Functions are told apart by all of their name. A bare name is shared by overloads, by instantiations of a template, by methods
//! of two classes, by static functions of two files and by implementations of a trait; none of them answers for another.

use std::path::PathBuf;
use trueline_check::{CheckError, CheckOptions, CheckRun, Checker};
use trueline_model::Invariant;
use trueline_oracle::Remembered;
use trueline_toolchain::{Job, Limits, Scratch, find_compiler};

struct Workshop {
    scratch: Scratch,
    cc: PathBuf,
}

impl Workshop {
    fn new(cc: &str, files: &[(&str, &str)]) -> Option<Self> {
        let directories = std::env::var_os("PATH")?;
        let cc = match find_compiler(cc) {
            Ok(compiler) => compiler.id.path,
            // C++ drivers go by the names of their C compilers' packages.
            Err(_) => std::env::split_paths(&directories).map(|d| d.join(cc)).find(|p| p.exists())?,
        };
        let scratch = Scratch::new().unwrap();
        for (name, text) in files {
            scratch.write(name, text).unwrap();
        }
        Some(Self { scratch, cc })
    }

    fn build(&self, args: &[&str], output: &str) -> PathBuf {
        let outcome =
            Job::new(&self.cc).args(args).args(["-o", output]).cwd(self.scratch.path()).limits(Limits::seconds(120)).run().unwrap();
        assert!(outcome.success(), "{args:?}: {}", outcome.stderr_text());
        self.scratch.join(output)
    }

    fn check(&self, reference: &[&str], optimized: &[&str]) -> Result<CheckRun, CheckError> {
        let (reference, optimized) = (self.build(reference, "reference"), self.build(optimized, "optimized"));
        let options = CheckOptions { remembered: Remembered::All, ..CheckOptions::default() };
        Checker::new(options).unwrap().check_pair(&reference, &optimized, &[])
    }
}

const SHAPES: &str = "\
#include <cstdio>
#include <vector>
namespace plane {
struct Circle {
  int radius;
  Circle(int r) : radius(r) {}
  ~Circle() { std::printf(\"-%d\\n\", radius); }
  int area() const { return 3 * radius * radius; }
};
struct Square {
  int side;
  Square(int s) : side(s) {}
  ~Square() { std::printf(\"=%d\\n\", side); }
  int area() const { return side * side; }
};
}  // namespace plane
template <class T>
static int total(const std::vector<T> &all) {
  int sum = 0;
  for (const T &one : all) {
    int area = one.area();
    sum += area;
  }
  return sum;
}
static int scale(int value) {
  int tripled = value * 3;
  return tripled;
}
static int scale(double value) {
  int half = static_cast<int>(value / 2);
  return half;
}
int main() {
  std::vector<plane::Circle> circles;
  std::vector<plane::Square> squares;
  for (int i = 1; i < 4; i++) {
    circles.emplace_back(i);
    squares.emplace_back(i + 1);
  }
  int sum = total(circles) + total(squares);
  auto bonus = [&](int by) {
    int more = sum + by;
    return more;
  };
  std::printf(\"%d %d %d\\n\", scale(sum), scale(9.5), bonus(2));
  return 0;
}
";

#[test]
fn overloads_instantiations_and_methods_of_one_name_do_not_answer_for_one_another() {
    for cc in ["g++-12", "clang++-16"] {
        let Some(shop) = Workshop::new(cc, &[("shapes.cpp", SHAPES)]) else { continue };
        let run = shop.check(&["-g", "-O0", "shapes.cpp"], &["-g", "-O2", "shapes.cpp"]).unwrap();
        assert!(run.optimized_steps > 10, "{cc}: {}", run.optimized_steps);
        // Headers of the system are walked past, and no function is reported for having another's lines.
        assert!(run.optimized.lines.keys().all(|k| k.file.as_str() == "shapes.cpp"), "{cc}: {:?}", run.optimized.lines.keys());
        let names: Vec<&str> = run.optimized.stops.iter().flat_map(|s| s.stack.iter()).map(|a| &*a.function).collect();
        assert!(names.iter().any(|n| n.starts_with("total<plane::Circle>(std::vector<")), "{cc}: {names:?}");
        assert!(names.iter().any(|n| n.starts_with("total<plane::Square>(std::vector<")), "{cc}: {names:?}");
        assert!(run.violations.iter().all(|v| !v.function.contains("scale")), "{cc}: {:?}", run.violations);
    }
}

#[test]
fn a_build_held_against_itself_shows_nothing() {
    for cc in ["g++-12", "clang++-16"] {
        let Some(shop) = Workshop::new(cc, &[("shapes.cpp", SHAPES)]) else { continue };
        let flags = ["-g", "-O0", "shapes.cpp"];
        assert_eq!(shop.check(&flags, &flags).unwrap().violations, [], "{cc}");
    }
}

const ONE: &str = "\
int other(int n);
static int helper(int n) {
  int here = n + 40000;
  return here;
}
int main(void) {
  int a = helper(1), b = other(2);
  return a + b > 0 ? 0 : 1;
}
";
const TWO: &str = "\
static long helper(const char *text) {
  long here = (long)text[0];
  return here;
}
int other(int n) {
  char text[2] = { (char)(n + 60), 0 };
  long sum = helper(text);
  return (int)sum;
}
";

#[test]
fn static_functions_of_one_name_in_two_files_are_two_functions() {
    for cc in ["gcc-12", "clang-16"] {
        let Some(shop) = Workshop::new(cc, &[("one.c", ONE), ("two.c", TWO)]) else { continue };
        for opt in ["-O0", "-Og", "-O2"] {
            let run = shop.check(&["-g", "-O0", "one.c", "two.c"], &["-g", opt, "one.c", "two.c"]).unwrap();
            assert_eq!(run.violations, [], "{cc} {opt}");
        }
    }
}

const PARSER: &str = "\
int printf(const char *, ...);
static int depth;
#line 60 \"sums.y\"
static int deeper(int by) {
  return depth + by;
}
#line 3 \"parser.c\"
int parse(const char *text) {
  int value = 0;
  for (; *text; text++) {
    switch (*text) {
    case '+':
#line 40 \"sums.y\"
      value += 10;
      depth = deeper(value);
#line 10 \"parser.c\"
      break;
    default:
#line 44 \"sums.y\"
      value -= *text - '0';
      printf(\"%d %d\\n\", value, depth);
#line 14 \"parser.c\"
    }
  }
  return value;
}
int main(void) { return parse(\"1+2++3\") == 99; }
";

/// The actions of a generated parser stand in the grammar, and are the parser's own code nevertheless.
#[test]
fn a_functions_own_lines_of_another_file_are_not_held_against_its_frame() {
    for cc in ["gcc-12", "clang-16"] {
        let Some(shop) = Workshop::new(cc, &[("parser.c", PARSER)]) else { continue };
        let run = shop.check(&["-g", "-O0", "parser.c"], &["-g", "-O2", "parser.c"]).unwrap();
        let against: Vec<_> = run.violations.iter().filter(|v| v.invariant() == trueline_model::Invariant::SelfContradiction).collect();
        assert!(against.is_empty(), "{cc}: {against:#?}");
        assert!(run.optimized_steps > 0, "{cc}: nothing was looked at");
    }
}

/// An inline function whose only code at -O0 is in another unit than the one that it is inlined into.
const HEADER: &str = "\
extern volatile int sink;
inline int twice(int n) {
  sink = n;
  int m = n + n;
  sink = m;
  return m;
}
";
const USER: &str = "\
#include \"twice.h\"
static int kept = 3;
int main(void) {
  kept += twice(kept);
  return kept - 9;
}
";
const KEEPER: &str = "\
#include \"twice.h\"
volatile int sink;
extern int twice(int n);
";

#[test]
fn globals_of_the_unit_that_a_headers_function_was_inlined_into_are_in_scope() {
    for cc in ["gcc-12", "clang-16"] {
        let Some(shop) = Workshop::new(cc, &[("twice.h", HEADER), ("user.c", USER), ("keeper.c", KEEPER)]) else { continue };
        let run = shop.check(&["-g", "-O0", "user.c", "keeper.c"], &["-g", "-O2", "user.c", "keeper.c"]).unwrap();
        // That gcc gives two lines of `twice` to main is true.
        let scopes: Vec<_> = run.violations.iter().filter(|v| v.invariant() == Invariant::Scope).collect();
        assert!(scopes.is_empty(), "{cc}: {scopes:?}");
        let mut dropped = run.dropped.iter().filter(|d| d.violation.variable().is_some_and(|name| &**name == "kept"));
        assert!(dropped.any(|d| d.rule == "file-scope"), "{cc}: {:?}", run.dropped);
    }
}
