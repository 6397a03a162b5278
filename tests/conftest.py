"""What all tests share: hypothesis without deadlines (machines are noisy), and no proxy or key of the developer's own."""

from __future__ import annotations

import contextlib
import os
import signal

from hypothesis import HealthCheck, settings

settings.register_profile(
    "ragguard", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
settings.load_profile("ragguard")

for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
    os.environ.pop(name, None)

# A job in the background is deaf to SIGINT, and so would be all that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.default_int_handler)
