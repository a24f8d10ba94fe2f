"""What reading a file may cost, wherever it is read: by the client, in a form, as an import or a document."""

MAX_FILE_BYTES = 20_000_000  # bytes of a document's file
MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384  # rows and columns of a sheet in Excel
MAX_CELLS = 10_000_000  # cells of a sheet, empty ones before the last of a row among them
MAX_ROW_CHARS = 1_000_000  # characters of a row of a sheet
MAX_UNPACKED_BYTES = 400_000_000  # bytes of a workbook's parts together
# Bytes that a packed one may unpack to, and those that any packed text or workbook may
MAX_RATIO, FREE_BYTES, FREE_BOOK_BYTES = 100, 100_000_000, 10_000_000
MAX_PART_BYTES = 20_000_000  # bytes of a part of a workbook that is held whole, such as its styles
MAX_ELEMENTS = 200_000  # XML elements that are held together; a full row has 50,000
FREE_TEXTS = 100_000  # shared texts of any workbook; a larger one may have as many as it has bytes
MAX_MEMORY_BYTES = 1_500_000_000  # bytes of address space of a process that reads a file
MAX_SECONDS = 30  # seconds of processor time to read a document, or the workbook of a form
IMPORT_SECONDS = 600  # seconds of processor time to read the workbook of an import
MAX_LINES, MAX_CHARS = 2_000, 1_000_000  # lines and characters of a file in a form
