"""GPUs through NVML, the library behind nvidia-smi: which ones, what they tell, who else is there.

NVML comes in as an argument, so that a test hands over another. It must not know engines.
"""

from labkit.telemetry.gpu.opening import Gpus, check_gpus, describe_gpus, open_gpus, probe

__all__ = ["Gpus", "check_gpus", "describe_gpus", "open_gpus", "probe"]
