"""Places on a grid of degrees."""

from __future__ import annotations

from sluice.console.charts.positions import MAX_LAT, MAX_LON, GeoPosition, positions
from sluice.live.values import Value
from sluice.serve.panels.cells import UnfitCellError, cell_of, number_in, text_in, text_of
from sluice.serve.panels.selection import SelectedRows
from sluice.serve.panels.view import PanelView
from sluice.specs.model.pages import PositionsPanel


def position_chart(panel: PositionsPanel, selected: SelectedRows) -> PanelView:
    """Return the places of a panel, those that changed last; rows without a position are no places."""
    found = [place for _, place in selected.read(lambda row: _place(panel, row)) if place is not None]
    chart = positions(panel.title, found[: panel.rows], more=max(0, len(found) - panel.rows))
    return selected.view(chart, lacking=f"{panel.lon} and {panel.lat} have no values.")


def _place(panel: PositionsPanel, row: Value) -> GeoPosition | None:
    lon, lat = _degrees(row, panel.lon, MAX_LON), _degrees(row, panel.lat, MAX_LAT)
    state = "" if panel.state is None or (cell := cell_of(row, panel.state)) is None else text_of(cell)
    name = ", ".join(row.key) if panel.label is None else text_in(row, panel.label)
    return None if lon is None or lat is None else GeoPosition(lon, lat, name, state)


def _degrees(row: Value, column: str, most: float) -> float | None:
    degrees = number_in(row, column)
    if degrees is not None and abs(degrees) > most:
        raise UnfitCellError(f"{column} is {degrees:g}, which is beyond {most:g} degrees")
    return degrees
