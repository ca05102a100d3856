#!/bin/sh
# Print the path of a Python that runs and is CPython 3.11, 3.12, 3.13 or 3.14; print nothing and fail if there is none.
#   tools/find_python.sh             the default: python3 if it fits, else the newest that fits
#   tools/find_python.sh python3.12  this one (a name, a path or a version), also from pyenv's versions folder
# A name on PATH may be a pyenv shim that only fails: each candidate is run before it is believed.

try() { # CANDIDATE WANTED: WANTED is "" or "3.12"
    "$1" - "$2" 2>/dev/null <<'PYTHON'
import sys
version = "%d.%d" % sys.version_info[:2]
fits = sys.implementation.name == "cpython" and version in ("3.11", "3.12", "3.13", "3.14") and sys.argv[1] in ("", version)
if fits:
    print(sys.executable)
sys.exit(0 if fits else 1)
PYTHON
}

pyenv_versions() { # VERSION: the interpreters of that minor version under pyenv's root
    root=${PYENV_ROOT:-$(pyenv root 2>/dev/null || echo "$HOME/.pyenv")}
    ls -d "$root/versions/$1".*/bin/"python$1" 2>/dev/null
}

wanted=${1#python}
case $1 in
    "" | python3) try python3 "" && exit
        for version in 3.14 3.13 3.12 3.11; do "$0" "$version" && exit; done ;;
    python3.* | 3.*) for candidate in "python$wanted" $(pyenv_versions "$wanted"); do try "$candidate" "$wanted" && exit; done ;;
    *) try "$1" "" && exit ;;
esac
exit 1
