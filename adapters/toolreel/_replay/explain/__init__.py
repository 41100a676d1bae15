"""Why a run did what it did, and where two runs part."""
