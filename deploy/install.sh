#!/bin/sh
# Compile the packages of an image (its root is read-only at run time) and write the program that starts one of them:
#   install.sh SITE PROGRAM MODULE
set -eu
find "$1" -name __pycache__ -prune -exec rm -r {} +
/opt/venv/bin/python -m compileall -q "$1"
mkdir -p "$(dirname "$2")"
cat >"$2" <<END
#!/opt/venv/bin/python
from $3.__main__ import main

raise SystemExit(main())
END
chmod 0755 "$2"
