#!/bin/sh
# Put packages into a virtual environment of an image, compiled (the image's root is read-only), with their program:
#   install.sh VENV FOLDER PROGRAM MODULE
set -eu
site=$("$1/bin/python" -c 'import site; print(site.getsitepackages()[0])')
cp -r "$2"/* "$site"
find "$site" -name __pycache__ -path "*veredicto*" -prune -exec rm -r {} +
"$1/bin/python" -m compileall -q "$site"/veredicto_*
cat >"$1/bin/$3" <<END
#!$1/bin/python
from $4.__main__ import main

raise SystemExit(main())
END
chmod 0755 "$1/bin/$3"
