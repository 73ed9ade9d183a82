"""`labkit verify` and `labkit doctor`: looks at an endpoint and at this machine, nothing is kept.

It must not measure.
"""

import argparse
from pathlib import Path

from labkit.cli.say import show
from labkit.errors import ParamsError
from labkit.home import find_reports


def verify(chosen: argparse.Namespace) -> int:
    """Send one request to an endpoint and print what came back."""
    from labkit.address import find_asked, read_key, tell_source
    from labkit.client.verify import verify_endpoint

    if chosen.base_url is None:
        if chosen.api_key_env:
            raise ParamsError("expected a URL with --api-key-env, found none; give it")
        place = find_asked(chosen.provider, chosen.providers_file)
        print(f"taken from:     {place.told_by}")
        base_url, model, key = place.base_url, chosen.model or place.model, place.read_key()
        key_place: str | None = place.told_by
    elif chosen.provider or chosen.providers_file:
        raise ParamsError("expected a URL or --provider, found both; leave one out")
    else:
        base_url, model = chosen.base_url, chosen.model
        key, key_place = read_key(chosen.api_key_env), tell_source(chosen.api_key_env)
    found = verify_endpoint(base_url, model=model, api_key=key, key_place=key_place)
    print(f"endpoint:       {found.base_url}")
    print(f"model:          {found.model}")
    print(f"text:           {found.text!r}")
    print(f"finish reason:  {found.finish_reason}")
    print(
        f"usage:          {found.prompt_tokens} prompt tokens, "
        f"{found.completion_tokens} completion tokens"
    )
    print(f"latency:        {found.latency_s:.3f} s")
    return 0


def doctor(chosen: argparse.Namespace) -> int:
    """Print what this machine has and lacks."""
    from labkit.doctor import diagnose

    checks = diagnose(Path(show(find_reports())))
    for check in checks:
        print(f"{check.status:<5} {check.name:<14} {check.text}")
        if check.fix:
            print(f"{'':<20} -> {check.fix}")
    return 1 if any(check.status == "fail" for check in checks) else 0
