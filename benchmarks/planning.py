"""Measure what a plan costs, in seconds of the processor and memory, by the number of jobs.

    python benchmarks/planning.py [--made RUN] [--rounds 5] [--jobs 200 2000 10000]

First plans that find nothing to do, beside the import of Snakemake, in turn: of the toy world, and of everything that
its configs ask for together. RUN is a folder in which the toy world was made (`snakemake --directory RUN`); its results
are copied, and what the other configs would add is put there as empty files, which a plan takes for made. Then plans of
runs that grow: the toy world with more and more trainings of one captioner, by `seeds`, of which nothing is made.
"""

import argparse
import itertools
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOY = [ROOT / "config" / "config.yaml"]
EVERYTHING = [*TOY, *(ROOT / "config" / f"{name}.yaml" for name in ("variants", "toy_discritune", "toy_probing"))]
SEEDED = "toy-discritune-coco"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--made", type=Path, help="a folder in which the toy world was made")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, nargs="*", default=[200, 2000, 10000], help="about so many, at least 253")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.made:
            print("| config | import, s | plan, s | ratio | MB |\n|---|---|---|---|---|")
            for name, configs in {"the toy world": TOY, "every config of it": EVERYTHING}.items():
                compare(name, pretend(arguments.made, Path(folder, name), configs), configs, arguments.rounds)
        if arguments.jobs:
            print("| jobs | plan, s | MB |\n|---|---|---|")
            grow(arguments.jobs, Path(folder))


def compare(name: str, run: Path, configs: Sequence[Path], rounds: int) -> None:
    """Print medians of the import of Snakemake, of a plan that finds nothing to do, and of their ratio."""
    plain = [sys.executable, "-c", "import snakemake.cli"]
    plan = snakemake(run, configs, "--dry-run")
    spent(plan)  # keeps the fingerprints of the code
    imports, plans = [], []
    for _ in range(rounds):
        imports.append(spent(plain)[0])
        plans.append(spent(plan))
        if "Nothing to be done" not in plans[-1][2]:
            raise SystemExit(f"there is something to do:\n{plans[-1][2][-2000:]}")
    seconds = [used for used, _, _ in plans]
    ratio = statistics.median(used / alone for used, alone in zip(seconds, imports, strict=True))
    middle, alone = statistics.median(seconds), statistics.median(imports)
    print(
        f"| {name} | {alone:.2f} | {middle:.2f} | {ratio:.2f} | {max(most for _, most, _ in plans):.0f} |", flush=True
    )


def pretend(made: Path, run: Path, configs: Sequence[Path]) -> Path:
    """A folder in which everything that the configs ask for seems to be made: what there is, and empty files."""
    shutil.copytree(made / "results", run / "results", symlinks=True)
    listed = spent(snakemake(run, configs, "--detailed-summary"))[2].splitlines()
    header = next(row for row, line in enumerate(listed) if line.startswith("output_file\t"))
    files = {Path(line.split("\t")[0]) for line in listed[header + 1 :] if "\t" in line}
    folders = {folder for file in files for folder in file.parents}
    for file in files:
        place = run / file
        if file in folders or not file.suffix:
            place.mkdir(parents=True, exist_ok=True)
        elif not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
    spent(snakemake(run, configs, "--touch", "--forceall"))
    now = time.time()
    for file in (run / "results").rglob("*"):  # equally old, as nothing is newer than what was made of it
        os.utime(file, (now, now), follow_symlinks=False)
    return run


def grow(sizes: Sequence[int], folder: Path) -> None:
    """Print plans of about so many jobs, of which none is done, and how seconds grow with jobs."""
    jobs_of = {seeds: plan_of_seeds(seeds, folder)[0] for seeds in (2, 3)}
    each = jobs_of[3] - jobs_of[2]
    points = []
    for size in sizes:
        jobs, used, most = plan_of_seeds(max(2, 2 + (size - jobs_of[2]) // each), folder)
        print(f"| {jobs} | {used:.2f} | {most:.0f} |", flush=True)
        points.append((jobs, used, most))
    for (few, short, small), (many, long, large) in itertools.pairwise(points):
        times = math.log(many / few)
        growth = f"seconds {math.log(long / short) / times:.2f}, memory {math.log(large / small) / times:.2f}"
        print(f"exponent from {few} to {many} jobs: {growth}")


def plan_of_seeds(seeds: int, folder: Path) -> tuple[int, float, float]:
    """Jobs, seconds of the processor and MB of a plan with so many trainings of one captioner."""
    overlay = folder / f"{seeds}.yaml"
    overlay.write_text(json.dumps({"captioners": {SEEDED: {"seeds": [*range(1, seeds + 1)]}}}))
    used, most, said = spent(snakemake(folder / "empty", [*TOY, overlay], "--dry-run", "--quiet", "rules"))
    return int(re.search(r"^total +(\d+)$", said, re.MULTILINE)[1]), used, most


def snakemake(folder: Path, configs: Sequence[Path], *options: str) -> list[str]:
    """The command that runs the workflow with these configs in a folder."""
    files = [str(file) for file in configs]
    return [
        sys.executable,
        "-m",
        "snakemake",
        "--cores",
        "1",
        "--directory",
        str(folder),
        *options,
        "--configfile",
        *files,
    ]


def spent(command: Sequence[str]) -> tuple[float, float, str]:
    """Seconds of the processor and the most memory in MB of a process, and what it printed; an error where it fails."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=ROOT)
        status, usage = os.wait4(process.pid, 0)[1:]
        output.seek(0)
        said = output.read().decode()
    if status:
        raise SystemExit(f"{' '.join(command)} failed:\n{said[-2000:]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6, said


if __name__ == "__main__":
    main()
