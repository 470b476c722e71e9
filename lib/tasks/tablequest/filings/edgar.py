"""Download annual reports: `python -m lib.tasks.tablequest.filings.edgar AAPL 2024 folder`.

The optional package edgartools must be installed.
"""

import argparse
import os
import re
import sys
from pathlib import Path

from lib.core.errors import BadInput
from lib.core.files import write_text

IDENTITY = re.compile(r"\S.*\s<?[^\s@]+@[^\s@]+\.[^\s@]+>?")  # "Ann Smith ann@example.com"


def fetch(ticker: str, year: int, identity: str, folder: Path) -> Path:
    """Write the 10-K for the fiscal year that ended in `year` to `folder`; return the .html file.

    `identity` is "Name email", which the SEC requires of programs. The file is written only if the
    complete report arrived. Raises BadInput without the package, the identity or the network,
    and if there is no such company or report.
    """
    if not IDENTITY.fullmatch(identity.strip()):
        raise BadInput("the SEC requires programs to identify themselves: set EDGAR_IDENTITY to "
                          'a name and an email address, as in EDGAR_IDENTITY="Ann Smith '
                          f'ann@example.com" (it is {identity!r})')
    if not re.fullmatch(r"[A-Za-z0-9.\-]{1,10}", ticker):
        raise BadInput(f"{ticker!r} is not a ticker or CIK: give one such as AAPL")
    try:
        import edgar  # optional: needed here only
    except ImportError as error:
        raise BadInput("edgartools is not installed: pip install edgartools (it is optional; "
                          "filings saved by hand from www.sec.gov are read too)") from error
    try:
        return _fetched(edgar, ticker, year, identity.strip(), Path(folder))
    except BadInput:
        raise
    except Exception as error:  # the package's errors and its HTTP client's have no common base
        raise BadInput(f"EDGAR did not answer for {ticker} {year} ({type(error).__name__}: "
                          f"{str(error)[:200]}): check the network and try again, or save the "
                          "report by hand from www.sec.gov") from error


def _fetched(edgar, ticker: str, year: int, identity: str, folder: Path) -> Path:
    edgar.set_identity(identity)
    company = edgar.Company(ticker)
    if getattr(company, "not_found", False):
        raise BadInput(f"EDGAR has no company {ticker}: look up its ticker or CIK at "
                          "www.sec.gov/search-filings")
    filings = company.get_filings(form="10-K", amendments=False)
    reports = {str(filing.report_date)[:10]: filing for filing in filings}
    ends = sorted(end for end in reports if end.startswith(f"{year}-"))
    if not ends:
        known = ", ".join(sorted(reports)[-5:]) or "none"
        raise BadInput(f"{ticker} has no 10-K for a fiscal year that ended in {year}; the "
                          f"latest ended: {known}")
    text = reports[ends[-1]].html()
    if not text:
        raise BadInput(f"the 10-K of {ticker} for {ends[-1]} has no HTML: reports before 2001 "
                          "are plain text; save its .txt by hand from www.sec.gov, it is read too")
    return write_text(folder / f"{ticker.lower()}-10-k-{ends[-1]}.html", text)


def main(arguments: list[str] | None = None) -> int:
    """Fetch one report; on failure, print the reason to stderr and return 1."""
    parser = argparse.ArgumentParser(prog="python -m lib.tasks.tablequest.filings.edgar",
                                     description="Download an annual report from EDGAR.")
    parser.add_argument("ticker", help="a ticker such as AAPL, or a CIK")
    parser.add_argument("year", type=int, help="year in which the fiscal year ended")
    parser.add_argument("folder", type=Path, help="folder for the .html file")
    given = parser.parse_args(arguments)
    identity = os.environ.get("EDGAR_IDENTITY", "")
    try:
        print(fetch(given.ticker, given.year, identity, given.folder))
    except BadInput as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
