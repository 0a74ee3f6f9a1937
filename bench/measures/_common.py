"""What several measures need: examples built and named, the text of a module as its help."""
import argparse, os, subprocess

TARGET = os.environ.get("CARGO_TARGET_DIR", "target")
TRUELINE = os.path.join(TARGET, "release", "trueline")


def parser(doc):
    return argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)


def example(package, name):
    """Builds an example of a crate and returns its path."""
    subprocess.run(["cargo", "build", "--release", "--locked", "-q", "-p", f"trueline-{package}", "--example", name], check=True)
    return os.path.join(TARGET, "release", "examples", name)


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, **options)
