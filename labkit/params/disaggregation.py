"""What separate prefill and decode pools are planned for, as a params file says it."""

from typing import Annotated, Literal

from pydantic import Field

from labkit.params.section import PositiveFloat, Section


class DisaggregationParams(Section):
    """Devices and link of the plan; nothing of it is launched."""

    num_devices: Annotated[int, Field(ge=2, le=64)] = 4
    """Of both pools together; a device is whatever the measured engine ran on."""
    transfer_bytes_per_s: PositiveFloat = 3.125e9
    """Of each device's link between the pools, in one direction: 25 Gbit/s Ethernet 3.125e9, PCIe
    4.0 x16 31.5e9, PCIe 5.0 x16 63e9, NVLink of an A100 300e9, of an H100 450e9. Unset is the
    Ethernet, the slowest of them."""
    percentile: Literal[50, 90, 95, 99] = 90
    """Percent of the requests that must keep each limit of the SLO; DistServe asks for 90."""
