"""Faithful rewrites in other words, as a model writes them: (segment, rewrite), to test the audit.

Written by hand, about devices and programs that do not exist.
"""

PAIRS = (
    (
        "## Mounting\n\nFix the pump to a level base with four M8 bolts. Tighten each bolt to 25 "
        "Nm. Do not use washers made of aluminium.\n",
        "When the pump is mounted, it is fixed to a level base by means of four M8 bolts, each "
        "of which is tightened to 25 Nm. Washers made of aluminium must not be used.",
    ),
    (
        "| Port | Protocol | Use |\n|--|--|--|\n| 8443 | TCP | admin console |\n| 514 | UDP | "
        "log messages |\n",
        "Port 8443 uses the protocol TCP and serves the admin console. Port 514, in contrast, "
        "uses UDP and carries log messages.",
    ),
    (
        "The cache holds 512 entries by default. If the cache is full, the oldest entry is "
        "dropped. Entries never expire unless `ttl` is set.\n",
        "By default there are 512 entries in the cache, and once it is full the oldest entry is "
        "dropped. Unless `ttl` has been set, entries never expire.",
    ),
    (
        "Supported platforms:\n\n- Linux 5.10\n- FreeBSD 13\n- QNX 7.1\n",
        "The supported platforms are Linux 5.10, FreeBSD 13 and also QNX 7.1.",
    ),
    (
        "Release 2.4 fixes a crash of the parser. It was caused by empty lines in `routes.conf`. "
        "Users of release 2.3 should upgrade.\n",
        "A crash of the parser, which empty lines in routes.conf had caused, is fixed in release "
        "2.4. It is recommended that users of release 2.3 upgrade.",
    ),
    (
        "The valve closes within 3 seconds. After a power failure it stays open. It cannot be "
        "operated by hand.\n",
        "Within 3 seconds the valve closes, whereas it stays open after a power failure. "
        "Operating it by hand is not possible.",
    ),
    (
        "1. Switch the unit off.\n2. Remove the cover.\n3. Replace the fuse F2 (10 A).\n",
        "First (1) the unit is switched off, then (2) the cover is removed, and finally (3) the "
        "fuse F2 of 10 A is replaced.",
    ),
    (
        "- **Storage**: 40 GB\n- **Memory**: 8 GB\n- **Network**: two ports, 1 Gbit/s each\n",
        "The storage amounts to 40 GB and the memory to 8 GB. For the network there are two "
        "ports with 1 Gbit/s each.",
    ),
    (
        "The service starts without a configuration file. It then listens on port 8080 and "
        "writes no log. Set `LOG_DIR` to write one.\n",
        "Without a configuration file the service starts nevertheless, listens on port 8080 and "
        "writes no log; to write one, LOG_DIR has to be set.",
    ),
    (
        "The sensor measures from -40 °C to 125 °C with an accuracy of 0.5 °C. Its output is "
        "linear. It does not need calibration.\n",
        "With an accuracy of 0.5 °C, the sensor measures temperatures from -40 °C to 125 °C. The "
        "output is linear, and calibration is not needed.",
    ),
    (
        "Backups run every night at 02:00. They are kept for 14 days. Encrypted volumes are not "
        "included.\n",
        "Every night at 02:00 the backups run, and they are kept for 14 days. The volumes that "
        "are encrypted are excluded.",
    ),
    (
        "Only one controller may be active. The second controller is in standby and takes over "
        "after 5 s. Both must run the same firmware.\n",
        "No more than one controller is active at a time; after 5 s the second controller, which "
        "is in standby, takes over. The same firmware has to run on both of them.",
    ),
    (
        "| Option | Default | Description |\n|--|--|--|\n| `retries` | 3 | Attempts before a job "
        "fails. |\n| `delay` | 10 s | Time between attempts. |\n",
        "The option `retries`, whose default is 3, gives the attempts before a job fails. The "
        "option `delay` has a default of 10 s and gives the time between attempts.",
    ),
    (
        "The gateway is deprecated. New projects should use the broker. The gateway will be "
        "removed in version 6.\n",
        "As the gateway is deprecated and will be removed in version 6, it is the broker that "
        "new projects should use.",
    ),
    (
        "Lubricate the bearing every 500 hours with grease of grade 2. Too much grease causes "
        "heat. Never mix two kinds of grease.\n",
        "Every 500 hours the bearing is lubricated with grease of grade 2. Excess grease causes "
        "heat, and two kinds of grease must never be mixed.",
    ),
    (
        "Access is granted to members of the group `ops`. Guests cannot see the dashboard. "
        "Passwords expire after 90 days.\n",
        "Members of the group ops are granted access, while the dashboard cannot be seen by "
        "guests. After 90 days passwords expire.",
    ),
    (
        "The compiler emits a warning when a variable is not used. The flag `-q` turns warnings "
        "off. Errors are always shown.\n",
        "When a variable is unused, a warning is emitted by the compiler. Warnings are turned "
        "off with the flag -q, but errors are always shown.",
    ),
    (
        "Data is written in blocks of 4096 bytes. Each block has a checksum. A block with a "
        "wrong checksum is skipped.\n",
        "Blocks of 4096 bytes are written, each with a checksum of its own. Whenever the "
        "checksum is wrong, the block is skipped.",
    ),
    (
        "The display shows E07 if the door is open. Close the door and press Reset. If E07 "
        "stays, call the service.\n",
        "An open door is shown on the display as E07. In this case the door is closed and Reset "
        "is pressed; should E07 stay, the service is to be called.",
    ),
    (
        "Two modes exist: eco and boost. Eco saves 30% of energy. Boost is not available below 5 "
        "°C.\n",
        "There are two modes, eco and boost. While eco saves 30% of the energy, boost is "
        "unavailable below 5 °C.",
    ),
)
