"""What a driver is told that is no longer the newest of its unit."""

from __future__ import annotations

from sluice.errors import SluiceError


class FencedError(SluiceError):
    """A newer generation of the unit owns this output."""

    @classmethod
    def of(cls, output: object, marked: int, generation: int) -> FencedError:
        """Return the error of a driver that wants to write.

        Args:
            output: what it wants to write to.
            marked: the generation that owns it.
            generation: the driver's.
        """
        return cls(
            f"{output} belongs to generation {marked} of its stream; this driver is generation {generation} and "
            "publishes nothing more.",
            fix="nothing, if `sluice streams show` names a newer driver: it continues. If there is none, the stream "
            "is from another unit or deployment, whose generations are higher: see `sluice docs streams#moving`.",
        )
