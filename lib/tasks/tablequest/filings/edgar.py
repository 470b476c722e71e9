"""Download annual reports: `python -m lib.tasks.tablequest.filings.edgar AAPL 2024 folder`.

The optional package edgartools must be installed.
"""

import os
import sys
from pathlib import Path

from lib.core.errors import BadInput
from lib.core.store import write_text


def fetch(ticker: str, year: int, identity: str, folder: Path) -> Path:
    """Write the 10-K for the fiscal year that ended in `year` to `folder`; return the .html file.

    `identity` is "Name email", which the SEC requires of programs. Raises BadInput if there is no
    such report, or no network, package or identity.
    """
    try:
        import edgar  # optional: needed here only

        edgar.set_identity(identity)
        filings = edgar.Company(ticker).get_filings(form="10-K", amendments=False)
        text = next(
            (filing.html() for filing in filings if str(filing.report_date).startswith(f"{year}-")),
            "",
        )
    except Exception as error:  # the package's errors and its HTTP client's have no common base
        raise BadInput(
            f"EDGAR did not answer for {ticker} {year} ({type(error).__name__}: "
            f"{str(error)[:200]}): check the package edgartools, EDGAR_IDENTITY, the "
            "network and the ticker, or save the report by hand from www.sec.gov"
        ) from error
    if not text:
        raise BadInput(f"{ticker} has no 10-K in HTML for a fiscal year that ended in {year}")
    return write_text(folder / f"{Path(ticker).name.lower()}-10-k-{year}.html", text)


if __name__ == "__main__":
    try:
        _, name, ended, to = sys.argv
        print(fetch(name, int(ended), os.environ.get("EDGAR_IDENTITY", ""), Path(to)))
    except (BadInput, ValueError) as error:
        sys.exit(f"{error}: give a ticker, a year and a folder")
