from sluice.tables import Table

__version__: str

def table(name: str, *, version: int | None = None) -> Table: ...
