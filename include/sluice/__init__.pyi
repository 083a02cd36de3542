from sluice.interactive.table import Table

__version__: str

def table(name: str, *, version: int | None = None) -> Table: ...
