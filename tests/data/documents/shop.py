"""A shop."""


class Shop:
    """Sells plums."""

    def price(self, kilos):
        return 1.5 * kilos
