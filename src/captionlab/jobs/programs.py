"""The environment of programs that are not captionlab: Java, conda, git and the commands of metrics.

A program gets the variables of DEFINED, and of the user's variables only those that PASSED names. Other variables may
change numbers or break a program: a locale (LANG, LC_*), options of Java (JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS,
_JAVA_OPTIONS, CLASSPATH), libraries that come before the program's own (LD_PRELOAD, PYTHONPATH, PYTHONHOME).
"""

import os
from collections.abc import Mapping
from fnmatch import fnmatchcase

# The same for every user. Under another locale a program may write 0,5 for 0.5, convert to lower case by other rules,
# or read and write text in another encoding.
DEFINED = {"LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}
# The variables of the user that a program gets, each with the reason. A star stands for any characters.
PASSED = {
    "PATH": "where programs are found",
    "HOME": "where settings, caches and credentials of the user are",
    "USER": "the user's name, for programs that do not ask the system",
    "LOGNAME": "the user's name, as some programs ask for it",
    "XDG_*": "other folders for settings and caches",
    "TMPDIR": "where temporary files may be written",
    "LD_LIBRARY_PATH": "where a cluster or a container has libraries, such as the driver of a GPU",
    "DYLD_LIBRARY_PATH": "where macOS has libraries",
    "JAVA_HOME": "the Java that a script named `java` starts",
    "*_NUM_THREADS": "the threads of the job, which the order of sums depends on",
    "CUDA_*": "the GPUs of the job, and where CUDA is",
    "NVIDIA_*": "the GPUs that a container may use",
    "ROCR_VISIBLE_DEVICES": "the GPUs of the job, by AMD's driver",
    "HIP_VISIBLE_DEVICES": "the GPUs of the job, by AMD's library",
    "CONDA*": "where conda is and keeps packages, and its settings",
    "MAMBA_*": "where mamba, which may stand for conda, keeps packages",
    "PIP_*": "the package index that an environment of conda installs from",
    "UV_*": "the package index and the cache of uv",
    "HF_*": "caches, address and token of the Hugging Face hub",
    "TORCH_HOME": "the cache of torch's hub",
    "*_API_KEY": "keys of services that a command asks",
    "*_BASE_URL": "addresses of services, so that no key goes to another one",
    "*_API_BASE": "addresses of services, as some clients call them",
    "*_ENDPOINT": "addresses of services, as Azure's clients call them",
    "*_proxy": "the way to the network",
    "*_PROXY": "the way to the network, in capital letters",
    "SSL_CERT_*": "certificates of the way to the network",
    "*_CA_BUNDLE": "certificates of the way to the network, for requests and curl",
}


def program_environment(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a program: DEFINED, what the user's environment has of PASSED, and `variables`."""
    passed = {
        name: value for name, value in os.environ.items() if any(fnmatchcase(name, pattern) for pattern in PASSED)
    }
    return {**passed, **DEFINED, **(variables or {})}
