"""Where a result was made: the commit of the workflow and the device."""

import platform
import subprocess
from pathlib import Path


def commit() -> str:
    """Commit of the workflow, with a plus when tracked files were changed since; unknown outside a checkout."""
    git = ["git", "-C", str(Path(__file__).parent)]
    found = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False)
    if found.returncode:
        return "unknown"
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD"], capture_output=True, check=False).returncode
    return found.stdout.strip() + ("+" if changed else "")


def device_name() -> str:
    """Name of the GPU that torch computes on, or the kind of processor."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"CPU ({platform.machine()})"
