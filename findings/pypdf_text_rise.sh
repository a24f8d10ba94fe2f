#!/usr/bin/env bash
# pypdf 7.1.1, extract_text: the text rise of a PDF (operator Ts, ISO 32000-1, 9.3.7) reaches nobody.
# Most would expect that a raised figure is kept apart from the number before it, or at least that `visitor_text` gets a
# matrix that shows the rise. Seen: "1911" with a raised 2 is 19112, and the text matrix of both pieces is the same.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q "pypdf==7.1.1" "reportlab==5.1.0"
"$folder/venv/bin/python" - <<'PY'
from io import BytesIO

import pypdf
from reportlab.pdfgen.canvas import Canvas

file = BytesIO()
canvas = Canvas(file)
line = canvas.beginText(40, 200)
for text, size, rise in (("built in 1911", 12, 0), ("2", 7, 5), (" by Dahl", 12, 0)):
    line.setRise(rise)
    line.setFont("Helvetica", size)
    line.textOut(text)
canvas.drawText(line)
canvas.save()
heights = {}
page = pypdf.PdfReader(file).pages[0]
text = page.extract_text(visitor_text=lambda text, _, matrix, *rest: heights.update({text.strip(): matrix[5]}))
print("pypdf", pypdf.__version__, repr(text), heights)
assert "19112 by Dahl" in text, "the raised figure is apart"
assert heights["2"] == heights["built in 1911"], "the matrix shows the rise"
PY
